"""Draws from a smooth density: Hamiltonian Monte Carlo, many problems and chains at once.

Nothing here touches rows or noise: it is arithmetic on what has been released, and its randomness is not privacy noise.
A density takes points of shape (problems, walkers, coordinates) and gives the logarithm of the density, minus infinity
where it has none, and its gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Density = Callable[[Floats], tuple[Floats, Floats]]

CLIMB = 60  # steps towards the mode, at most
WINDOWS = (50, 70, 120)  # of the warm-up: after each, the metric is learnt anew from its draws
ACCEPT = 0.85  # of the proposals, aimed at
ARC = 2.5  # length of a trajectory in standard deviations: far, and not back again
FLOOR = 0.02  # a curvature below it is not believed: no coordinate is wider than 7
LONGEST = 40  # steps of a trajectory
STUCK = 3.0  # a chain whose log density is further below the best one's, per coordinate, is stuck: typical is 1


def draw_chains(density: Density, start: Floats, draws: int, chains: int, rng: np.random.Generator) -> Floats:
    """Draws from a density, of shape (problems, chains, draws, coordinates).

    The metric is first the curvature at the mode, then the covariance of the draws of a warm-up, which are thrown
    away; so are step sizes learnt. After that nothing adapts, and the draws are exact in the limit.

    Parameters
    ----------
    density : as above.
    start : a point for each task, of shape (problems, coordinates).
    draws, chains : how many.

    Reference: R. M. Neal, "MCMC using Hamiltonian dynamics", Handbook of MCMC, 2011.
    """
    with np.errstate(all="ignore"):  # trajectories that leave for infinity are turned down
        centre = find_mode(density, start)
        walk = Walk(density, centre, _root_of_inverse(estimate_curvature(density, centre)), chains, rng)
        for window in WINDOWS:
            # at first a short step now and then frees chains that began in a narrow place
            trace = walk.take_steps(window, adapt=True, least=0.6 if window > WINDOWS[0] else 0.05)
            walk.learn_metric(trace[:, :, window // 3 :])
            walk.restart_stuck()
        walk.take_steps(WINDOWS[0], adapt=True)
        return walk.take_steps(draws)


class Walk:
    """Chains under way, in coordinates z of unit covariance: a point is centre + root z."""

    def __init__(self, density: Density, centre: Floats, root: Floats, chains: int, rng: np.random.Generator) -> None:
        self.density, self.root, self.rng = density, root, rng
        problems, width = centre.shape
        self.step = np.full((problems, 1), 0.8 / width**0.25)
        spread = rng.normal(size=(problems, chains, width)) @ root.swapaxes(1, 2)
        for _ in range(20):  # starts where there is no density at all come nearer to the mode
            self.place = centre[:, None] + spread
            self.at = density(self.place)
            lost = ~np.isfinite(self.at[0])[..., None]
            if not lost.any():
                break
            spread = np.where(lost, spread / 2, spread)

    def take_steps(self, draws: int, adapt: bool = False, least: float = 0.6) -> Floats:
        """So many steps of every chain; `adapt` learns the step size meanwhile, of which steps vary from `least`."""
        trace = np.empty((*self.place.shape[:2], draws, self.place.shape[2]))
        learnt = np.zeros_like(self.step)
        for t in range(draws):
            chance = self._move_chains(self._count_steps(), least)
            if adapt:
                self.step *= np.exp((chance.mean(axis=1, keepdims=True) - ACCEPT) / math.sqrt(1 + t) * 1.5)
                np.clip(self.step, 1e-4, 1.5, out=self.step)
                learnt += np.log(self.step) * (t >= draws // 2)
            trace[:, :, t] = self.place
        if adapt:
            self.step = np.exp(learnt / (draws - draws // 2))
        return trace

    def _count_steps(self) -> int:
        return int(np.clip(math.ceil(ARC / float(np.quantile(self.step, 0.25))), 1, LONGEST))

    def _move_chains(self, steps: int, least: float) -> Floats:
        """One trajectory of every chain, taken or not by Metropolis; gives the chance it had."""
        step = (self.step * self.rng.uniform(least, 1.2, self.place.shape[:2]))[..., None]
        momentum = self.rng.normal(size=self.place.shape)
        log, slope = self.at
        energy = log - (momentum**2).sum(axis=-1) / 2
        place = self.place
        momentum = momentum + step / 2 * (slope @ self.root)
        for left in range(steps, 0, -1):
            place = place + (step * momentum) @ self.root.swapaxes(1, 2)
            log, slope = self.density(place)
            momentum = momentum + (step if left > 1 else step / 2) * (slope @ self.root)
        change = log - (momentum**2).sum(axis=-1) / 2 - energy
        chance = np.exp(np.minimum(0.0, np.where(np.isnan(change), -np.inf, change)))
        taken = self.rng.random(chance.shape) < chance
        self.place = np.where(taken[..., None], place, self.place)
        self.at = np.where(taken, log, self.at[0]), np.where(taken[..., None], slope, self.at[1])
        return chance

    def restart_stuck(self) -> None:
        """Chains that are stuck far below the best start again where that is; during the warm-up alone."""
        log, slope = self.at
        best = np.argmax(log, axis=1)
        problems = np.arange(len(best))
        lost = ~(log > log[problems, best][:, None] - STUCK * self.place.shape[-1])
        self.place = np.where(lost[..., None], self.place[problems, best][:, None], self.place)
        self.at = (
            np.where(lost, log[problems, best][:, None], log),
            np.where(lost[..., None], slope[problems, best][:, None], slope),
        )

    def learn_metric(self, trace: Floats) -> None:
        """The metric anew: the covariance of a trace, drawn a little towards the metric so far."""
        problems, chains, draws, width = trace.shape
        points = trace.reshape(problems, chains * draws, width)
        points = points - points.mean(axis=1, keepdims=True)
        inverse = np.linalg.inv(self.root)
        z = points @ inverse.swapaxes(1, 2)
        weight = min(1.0, chains * draws / (chains * draws + 5.0 * width))
        shape = weight * (z.swapaxes(1, 2) @ z) / (chains * draws) + (1 - weight) * np.eye(width)
        try:
            self.root = self.root @ np.linalg.cholesky(shape + 1e-6 * np.eye(width))
        except np.linalg.LinAlgError:  # a trace that floats cannot hold teaches nothing
            return


def estimate_curvature(density: Density, centre: Floats) -> Floats:
    """Minus the Hessian of the log density, from differences of its gradient."""
    width = centre.shape[1]
    step = 1e-4
    shifts = step * np.concatenate([np.eye(width), -np.eye(width)])
    slopes = density(centre[:, None] + shifts)[1]
    hessian = (slopes[:, :width] - slopes[:, width:]) / (2 * step)
    return np.nan_to_num(-(hessian + hessian.swapaxes(1, 2)) / 2, posinf=0.0, neginf=0.0)


def find_mode(density: Density, start: Floats) -> Floats:
    """The mode, or near it: Newton's method, damped until the density grows."""
    place, damping = start, np.ones((len(start), 1))
    log, slope = (part[:, 0] for part in density(place[:, None]))
    for _ in range(CLIMB):
        values, vectors = np.linalg.eigh(estimate_curvature(density, place))
        along = (slope[:, None] @ vectors)[:, 0] / (np.abs(values) + damping)
        there = place + (vectors @ along[..., None])[..., 0]
        new, tilt = (part[:, 0] for part in density(there[:, None]))
        better = np.where(np.isnan(new), -np.inf, new) > log
        place, slope = np.where(better[:, None], there, place), np.where(better[:, None], tilt, slope)
        gain = np.where(better, new - log, 0.0)
        log = np.where(better, new, log)
        damping = np.clip(np.where(better[:, None], damping / 5, damping * 4), 1e-6, 1e12)
        if not (gain[better] > 1e-6).any() and (better | (damping[:, 0] > 1e4)).all():
            break
    return place


def _root_of_inverse(precision: Floats) -> Floats:
    values, vectors = np.linalg.eigh(precision)
    return np.asarray(vectors / np.sqrt(np.maximum(np.abs(values), FLOOR))[:, None])


def split_rhat(trace: Floats) -> Floats:
    """How much wider all chains are together than each half of one: 1 once they agree; of (…, chains, draws, k)."""
    halves = _split_halves(trace)
    draws = halves.shape[-2]
    within = halves.var(axis=-2, ddof=1).mean(axis=-2)
    between = halves.mean(axis=-2).var(axis=-2, ddof=1)
    return np.asarray(np.sqrt((draws - 1) / draws + between / np.maximum(within, 1e-300)))


def effective_size(trace: Floats) -> Floats:
    """How many independent draws the chains are worth for a mean, per coordinate: Geyer's initial monotone sequence."""
    halves = _split_halves(trace)
    chains, draws = halves.shape[-3:-1]
    centred = halves - halves.mean(axis=-2, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * draws, axis=-2)) ** 2
    covariance = np.fft.irfft(spectrum, axis=-2)[..., :draws, :].mean(axis=-3) / draws
    within = covariance[..., :1, :] * draws / (draws - 1)
    total = within * (draws - 1) / draws + halves.mean(axis=-2).var(axis=-2, ddof=1)[..., None, :]
    correlation = 1 - (within - covariance) / np.maximum(total, 1e-300)
    pairs = correlation[..., 0 : draws // 2 * 2 : 2, :] + correlation[..., 1 : draws // 2 * 2 : 2, :]
    pairs = np.minimum.accumulate(np.maximum(pairs, 0.0), axis=-2)
    length = np.maximum(2 * pairs.sum(axis=-2) - 1, 1 / math.log10(chains * draws + 10))
    return np.asarray(chains * draws / length)


def _split_halves(trace: Floats) -> Any:
    *lead, chains, draws, width = trace.shape
    even = trace[..., : draws // 2 * 2, :]
    return even.reshape(*lead, chains * 2, draws // 2, width)
