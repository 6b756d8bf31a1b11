"""Powers: sums of features and of their squares, each clipped by itself, at half the arithmetic of a general sum.

The coordinates of such an image are bounded one by one, so no row's norm has to be taken: whole numbers are added up as
they are, and weighted afterwards. `mechanisms/proofs/powers.md` has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.budget import Neighbours
from discreet.query.images import Scaled, find_missing
from discreet.query.integer_sums import Floats, Ints, root_above
from discreet.query.row_batch import Batch
from discreet.query.sums import ROWS, BoundedSum

MOST_BITS = 19  # 2^14 squares of so many bits add up within 2^53
WEIGHT_BITS = 5


@dataclass(frozen=True)
class MomentSums(BoundedSum):
    """What to add up: (f·x, g·x², h·t, k·t²) over rows with features x and target t, all within [-1, 1].

    Without a target: (f·x, g·x²).

    Parameters
    ----------
    left : gives x; what is beyond [-1, 1] is clipped.
    right : gives t, one number per row.
    weights : (f, g, h, k), multiples of 1/32 from 0 to 32; others are refused.

    | a row with | adds |
    | --- | --- |
    | NaN or infinity | zero |
    """

    weights: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    bits: int = MOST_BITS

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.left, Scaled) or self.left.intercept or self.bits > MOST_BITS:
            raise ValueError("Powers are of scaled features without an intercept.")
        if not all(0 <= w <= 32 and (w * (1 << WEIGHT_BITS)).is_integer() for w in map(float, self.weights)):
            raise ValueError(f"The `weights` of powers are multiples of 1/32 from 0 to 32. Got {self.weights!r}.")

    @property
    def _whole_weights(self) -> list[int]:
        return [int(weight * (1 << WEIGHT_BITS)) for weight in self.weights]

    def exponent(self, widths: tuple[int, int]) -> int:
        """The unit of the integer totals is 2^exponent."""
        return -2 * self.bits - WEIGHT_BITS

    def sensitivity(self, widths: tuple[int, int], neighbours: Neighbours) -> Fraction:
        """How far the integer total can move between neighbours, in ℓ2, rounded up."""
        f, g, h, k = self._whole_weights
        far = 4 if neighbours == "replace-one" else 1  # numbers are 2 apart then, squares still 1
        of_target = 0 if self.right is None else far * h**2 + k**2
        squared = widths[0] * (far * f**2 + g**2) + of_target
        return root_above(squared << 4 * self.bits)

    def __call__(self, batch: Batch) -> Ints:
        """The total of a batch of at most `ROWS` rows, exact, in units of 2^exponent."""
        assert isinstance(self.left, Scaled)
        if len(batch) > ROWS:
            raise ValueError(f"A batch has at most {ROWS} rows.")
        top = 2.0**self.bits
        with np.errstate(all="ignore"):
            t = np.zeros(len(batch)) if self.right is None else np.rint(np.asarray(self.right(batch), np.float64) * top)
            bad = find_missing(batch) | batch.missing_targets | ~np.isfinite(t)
            x = self.left.quantise_features(batch, self.bits, bad).T
            np.clip(x, -top, top, out=x)
            t = np.where(bad, 0.0, np.clip(t, -top, top))
            sums = _sum_with_squares(x, batch.share) + (
                [] if self.right is None else _sum_with_squares(t[None], batch.share)
            )
        f, g, h, k = self._whole_weights
        up = 1 << self.bits
        weighted = zip(sums, (f * up, g, h * up, k), strict=False)
        return np.concatenate([part.astype(np.int64) * weight for part, weight in weighted])


def _sum_with_squares(x: Floats, share: Floats | None) -> list[Floats]:
    """The sums of whole numbers and of their squares; where rows have shares, each towards zero."""
    if share is None:
        return [x @ np.ones(x.shape[1]), np.einsum("ij,ij->i", x, x)]
    return [np.trunc(x * share).sum(axis=1), np.trunc(x * x * share).sum(axis=1)]
