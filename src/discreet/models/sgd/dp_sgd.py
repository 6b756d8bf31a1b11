"""Gaussian noise on the gradients of lots: DP-SGD, one plan for all steps, charged before the first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Lot
from discreet.curator import Curator
from discreet.models.sgd.row_gradients import UNIT, RowGradients
from discreet.models.sgd.schedule import Descent
from discreet.query import BoundedSum
from discreet.release import Release

Floats = NDArray[np.float64]

FOR_ROWS = 0.02  # of the budget, where rows are counted: their number in a lot, or how many gradients are clipped
QUANTILE = 0.5  # of the norms of gradients, which an adaptive clip follows
PULL = 0.2  # how fast it does
LEAST, MOST = 2.0**-10, 4.0  # and how far it may go


@dataclass
class LotSize:
    """The expected number of rows of a lot: public, or the mean of noisy counts so far.

    Early on a mean of few counts may be far too low, and a step far too long: one deviation of its noise is added.
    """

    public: float | None
    total: float = 0.0
    noise: float = 0.0
    counts: int = 0

    def add_count(self, rows: float, std: float) -> None:
        """One more noisy count."""
        self.total, self.noise, self.counts = self.total + rows, std, self.counts + 1

    @property
    def expected_rows(self) -> float:
        """What to divide a sum of gradients by; at least one row.

        >>> size = LotSize(None)
        >>> size.add_count(90.0, 20.0)
        >>> size.expected_rows
        110.0
        """
        if self.public is not None:
            return max(self.public, 1.0)
        return max(self.total / self.counts, 0.0) + max(self.noise / math.sqrt(self.counts), 1.0)

    @property
    def least_rows(self) -> float:
        """At least about so many rows: two deviations below what is known."""
        if self.public is not None:
            return max(self.public, 1.0)
        return max((self.total - 2 * self.noise * math.sqrt(self.counts)) / self.counts, 1.0)


@dataclass
class GradientClip:
    """The norm that gradients are clipped to: fixed, or moved towards a quantile of their norms.

    After each step the noisy share b of gradients within it moves it by a factor exp(-PULL·(b - QUANTILE)).

    References
    ----------
    Andrew, Thakkar, McMahan & Ramaswamy, "Differentially private learning with adaptive clipping", NeurIPS 2021.
    """

    norm: float
    adaptive: bool = False

    def move_norm(self, within: float, size: float) -> None:
        """So many rows, noise included, of about `size` had gradients of at most this norm.

        >>> clip = GradientClip(1.0, adaptive=True)
        >>> clip.move_norm(100.0, 100.0)
        >>> round(clip.norm, 3)
        0.905
        """
        if self.adaptive:
            share = min(max(within / size, 0.0), 1.0)
            self.norm = min(max(self.norm * math.exp(-PULL * (share - QUANTILE)), LEAST), MOST)


@dataclass(frozen=True)
class LotDescent:
    """Descent by noisy gradients of Poisson lots (Abadi et al. 2016), every row's gradient clipped by itself.

    Notes
    -----
    That of the plan: all that is measured on one lot is one sampled event. What a step asks depends on earlier answers,
    its event does not: noise is stated relative to the sensitivity, so a clip that moves changes both alike.

    Parameters
    ----------
    curator : answers.
    design : what to add up, of rows mapped by `design.polar`.
    lots : one per step.
    counted : whether rows are: the number of them in a lot.

    References
    ----------
    Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar & Zhang, "Deep learning with differential privacy", CCS 2016.
    """

    curator: Curator
    design: RowGradients
    lots: Sequence[Lot]
    counts_rows: bool

    def descend(self, descent: Descent, size: LotSize, clip: GradientClip, watch: Callable[[Descent], None]) -> None:
        """Take all steps; `watch` is shown each noised iterate."""
        for lot in self.lots:
            gradient, *rows = self._measure_lot(lot, descent.theta, clip)
            for noisy in rows:
                if self.counts_rows:
                    size.add_count(float(noisy.value.sum()), float(noisy.std) * math.sqrt(noisy.value.size))
                clip.move_norm(float(noisy.value[0]), size.expected_rows)
            descent.step(np.asarray(gradient.value) * (UNIT / size.expected_rows))
            watch(descent)

    def estimate_centre(self, lot: Lot, size: LotSize) -> Floats:
        """About the mean of the scaled features, by one lot of rows that are not mapped yet."""
        first, *second = lot.shares
        rows = [(self.design.count_rows(), share, None) for share in second]
        means, *counts = self.curator.sample(lot).measure_together((self.design.sum_features(), first, None), *rows)
        for noisy in counts:
            if self.counts_rows:
                size.add_count(float(noisy.value[0]), float(noisy.std))
        return shrink_feature_mean(np.asarray(means.value), float(means.std), size.expected_rows)

    def _measure_lot(self, lot: Lot, theta: Floats, clip: GradientClip) -> tuple[Release, ...]:
        first, *second = lot.shares
        wanted: list[Any] = [(self.design.sum_gradients(theta, clip.norm), first, None)]
        wanted += [(self._count_query(theta, clip), share, None) for share in second]
        return self.curator.sample(lot).measure_together(*wanted)

    def _count_query(self, theta: Floats, clip: GradientClip) -> BoundedSum:
        """What to count: rows; if the clip is to move, those within it, and apart from them the others."""
        if not clip.adaptive:
            return self.design.count_mapped_rows()
        return self.design.count_norms(theta, clip.norm, 2 if self.counts_rows else 1)


def shrink_feature_mean(total: Floats, std: float, rows: float) -> Floats:
    """A mean of features in [-1, 1] from their noisy sum, shrunk to 0 as far as it may be noise (James and Stein).

    >>> shrink_feature_mean(np.array([50.0, -30.0]), 1.0, 100.0).round(2)
    array([ 0.5, -0.3])
    >>> shrink_feature_mean(np.array([50.0, 30.0]), 60.0, 100.0)
    array([0., 0.])
    """
    mean = np.clip(total / rows, -1.0, 1.0)
    noise, seen = len(mean) * (std / rows) ** 2, float((mean * mean).sum())
    return mean * (max(0.0, 1.0 - noise / seen) if seen > 0 else 0.0)


def stack_releases(parts: Sequence[Release]) -> list[Release]:
    """Releases of many steps as one of each name, values stacked: what left, in one line of the receipt each."""
    found = []
    for name in dict.fromkeys(part.name for part in parts):
        same = [part for part in parts if part.name == name]
        unit = UNIT if name == "gradient" else 1.0
        values = np.stack([np.asarray(part.value) * unit for part in same])
        stds = np.array([float(part.std) * unit for part in same])
        std: Any = float(stds[0]) if (stds == stds[0]).all() else stds.reshape(-1, *[1] * (values.ndim - 1))
        found.append(replace(same[0], name=f"{name} of {len(same)} lots", value=values, std=std))
    return found
