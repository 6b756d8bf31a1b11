"""Pictures, in one quiet style that can be read in grey.

Each function takes `axes=None` and returns the axes. Pictures of guarantees and of releases cost nothing. Pictures of
exact test rows are for those who may see the rows. Functions beside them (`make_lines`, `account`, `make_bars`,
`losses`, `beliefs` ...) return the numbers of a picture, without matplotlib.
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
