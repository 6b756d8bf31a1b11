"""Pictures, in one quiet look that reads in grey.

Each function takes `axes=None` and returns the axes. Pictures of promises and of what was released cost nothing;
those of exact test rows are for those who may see the rows. The functions beside them (`lines`, `account`, `bars`,
`losses`, `beliefs` ...) give what is drawn, without matplotlib.
"""

from discreet.plots.adversary import adversary
from discreet.plots.coefficients import coefficients
from discreet.plots.frontier import frontier
from discreet.plots.ledger import ledger
from discreet.plots.loss import privacy_loss
from discreet.plots.posterior import posterior
from discreet.plots.rates import calibration, roc

__all__ = [
    "adversary",
    "calibration",
    "coefficients",
    "frontier",
    "ledger",
    "posterior",
    "privacy_loss",
    "roc",
]
