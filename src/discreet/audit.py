"""Audit: attack a mechanism and report what privacy loss is *certain*.

The mechanism is run many times on each of two neighbouring data sets. On the first third of the runs an attack is
learnt: a score of outputs and a threshold that tell the two apart. On the rest it is tested, and exact binomial
(Clopper-Pearson) bounds on its two error rates give a lower bound on the privacy loss that holds with the stated
confidence. If the bound exceeds what was declared, the mechanism is broken; if not, this attack did not break it.

Gaussian plans are audited in μ, from the trade-off curve: halved noise shows after a few hundred to thousands of runs,
where ε at δ = 1e-6 would need a hundred thousand. Pure ones are audited in ε.

A broken mechanism often shows long before the last run. An audit may look early (`first_look`), after twice as many
runs, and so on, and stops at the first look that proves a violation. Its confidence is kept: the k numbers of runs are
fixed in advance, and each look fails (its bound is above the truth) with probability at most (1 - confidence)/k. By the
union bound some look fails with probability at most 1 - confidence, whichever of them was the last and however that
was decided. This holds although later looks use the runs of earlier ones, since no independence is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import curves
from discreet.documents import html
from discreet.events import Event
from discreet.progress import Bar
from discreet.release import Release

Floats = NDArray[np.float64]

PLAIN = 1e6  # deviations that count for two values told apart without any noise


@dataclass(frozen=True)
class Audit:
    """What an attack proved.

    Attributes
    ----------
    epsilon : at (ε, δ) with a smaller ε the mechanism cannot be private.
    mu : nor can it be μ-GDP with a smaller μ.
    declared_epsilon, declared_mu : what it declared (infinite where it declared nothing of the kind).
    runs, confidence, delta : how it was found; `runs` is how many there were at the last look.
    """

    epsilon: float
    mu: float
    declared_epsilon: float
    declared_mu: float
    runs: int
    confidence: float
    delta: float

    @property
    def violated(self) -> bool:
        """Whether the mechanism spends more than it declares, with the stated confidence."""
        return self.epsilon > self.declared_epsilon or self.mu > self.declared_mu

    def _repr_html_(self) -> str:
        rows = [
            ("ε", f"≥ {self.epsilon:.4g}", f"{self.declared_epsilon:.4g}"),
            ("μ", f"≥ {self.mu:.4g}", f"{self.declared_mu:.4g}"),
        ]
        verdict = "BROKEN: spends more than it declares" if self.violated else "Not broken by this attack"
        about = f"{verdict}, from {self.runs} runs each at confidence {self.confidence:g}."
        table = html.write_table(rows, ("", "proved", "declared"), "Audit")
        return table + (html.write_warning(about) if self.violated else html.write_paragraphs(about))

    def __str__(self) -> str:
        verdict = "BROKEN: spends more than it declares" if self.violated else "not broken by this attack"
        return (
            f"{verdict}: ε >= {self.epsilon:.4g} (declared {self.declared_epsilon:.4g}), μ >= {self.mu:.4g} "
            f"(declared {self.declared_mu:.4g}), from {self.runs} runs each at confidence {self.confidence:g}"
        )


def audit(
    mechanism: Any,
    data: Any = None,
    neighbour: Any = None,
    *,
    event: Event | None = None,
    runs: int = 1000,
    first_look: int | None = None,
    delta: float = 0.0,
    confidence: float = 0.99,
    progress: bool = False,
) -> Audit:
    """A certified lower bound on the privacy loss of a mechanism, from two neighbouring data sets.

    Parameters
    ----------
    mechanism : a function of a data set that returns a number, an array or a `Release`; or a private estimator.
    data, neighbour : what the function is given; for an estimator (X, y). An estimator is audited on its worst case if
        they are left out: no row at all, against one row in a corner of its bounds.
    event : what the mechanism declares; read off its releases if None.
    runs : how often it is run on each of the two.
    first_look : after how many runs to look first, then after twice as many, and so on up to `runs`. The first look
        that proves a violation ends the audit. If None, the only look is after the last run.
    delta : at which ε is bounded.
    confidence : that the bound holds; 1 - 1e-6 in tests.
    progress : show a progress bar.

    Examples
    --------
    >>> from discreet.stats import count
    >>> result = audit(lambda x: count(x, epsilon=1.0), np.ones((0, 1)), np.ones((1, 1)), runs=400)
    >>> result.violated, result.declared_epsilon
    (False, 1.0)
    """
    looks = looks_of(runs, first_look)
    if getattr(mechanism, "random_state", None) is not None:
        raise ValueError("A seeded estimator has the same noise in every run. Hint: random_state=None.")
    run = _runner(mechanism)
    if data is None:
        data, neighbour = worst_case(mechanism)
    declared = event
    outputs: list[list[Floats]] = [[], []]
    with Bar(progress, "auditing") as bar:
        for done in range(1, runs + 1):
            for side, given in enumerate((data, neighbour)):
                value, ran = run(given)
                declared = declared or ran
                outputs[side].append(value)
            bar.at(done / runs)
            if done in looks:
                bounds = _attack(*_even(outputs), delta, (1 - confidence) / len(looks))
                found = Audit(*bounds, *_declared(declared, delta), done, confidence, delta)
                if found.violated:
                    break
    return found


def looks_of(runs: int, first: int | None = None) -> tuple[int, ...]:
    """After how many runs an audit looks.

    >>> looks_of(1500, first=300), looks_of(1500)
    ((300, 600, 1200, 1500), (1500,))
    """
    for name, number in (("runs", runs), ("first_look", first)):
        if number is not None and number < 20:
            raise ValueError(f"The `{name}` of an audit must be at least 20. Got {number!r}.")
    looks = [runs if first is None else first]
    while looks[-1] < runs:
        looks.append(2 * looks[-1])
    return (*looks[:-1], runs)


def _declared(event: Event | None, delta: float) -> tuple[float, float]:
    """The ε and the μ that an event declares, infinite where it declares nothing of the kind."""
    if event is None:
        return math.inf, math.inf
    pure = curves.pure(event)
    return pure if not (math.isinf(pure) or delta) else _epsilon(event, delta), curves.mu(event)


def _epsilon(event: Event, delta: float) -> float:
    from discreet import accounting

    return accounting.epsilon(event, delta) if delta else math.inf


def worst_case(estimator: Any) -> tuple[Any, Any]:
    """No row, and one row in a corner of the bounds; or, to be replaced, one row in either of two opposite corners."""
    bounds = getattr(estimator, "bounds", None)
    if bounds is None or bounds.width is None:
        raise ValueError("An audit without data needs an estimator with `bounds` of a known width.")
    row, other = bounds.upper.reshape(1, -1), bounds.lower.reshape(1, -1)
    labels = bounds.classes or bounds.target or (0.0, 0.0)
    label, opposite = np.array([labels[-1]]), np.array([labels[0]])
    if getattr(estimator, "neighbours", "add-remove") == "replace-one":
        return (other, opposite), (row, label)
    return (row[:0], label[:0]), (row, label)


def _runner(mechanism: Any) -> Callable[[Any], tuple[Floats, Event | None]]:
    if not hasattr(mechanism, "fit"):
        return lambda given: _flat(mechanism(given))
    from sklearn.base import clone

    return lambda given: _flat(clone(mechanism).fit(*given).release_)


def _flat(output: Any) -> tuple[Floats, Event | None]:
    """All that was released, as one vector; and the event, if it is known."""
    if not isinstance(output, Release):
        return np.asarray(output, np.float64).ravel(), None
    return np.concatenate([_in_deviations(part) for part in output.parts or (output,)]), output.event


def _in_deviations(release: Release) -> Floats:
    """What was released, in stated deviations of its noise: the same unit in every run, where norms are adapted.

    >>> from discreet.stats import count
    >>> release = count(np.ones(50), epsilon=1.0)
    >>> bool(abs(_in_deviations(release)[0] - 50 / release.std) < 30)
    True
    """
    value = np.asarray(release.value, np.float64).ravel()
    std = np.nan if release.std is None else np.asarray(release.std, np.float64)
    unit = np.broadcast_to(std, np.shape(release.value)).ravel()
    known = np.isfinite(unit) & (unit > 0)
    return np.where(known, value / np.where(known, unit, 1.0), value)


def _even(outputs: list[list[Floats]]) -> tuple[Floats, Floats]:
    """Outputs as rows of equal length: where a mechanism goes one way or another, by what it found, how long they are.

    >>> _even([[np.array([5.0])], [np.array([6.0, 7.0])]])
    (array([[5., 0., 1.]]), array([[6., 7., 2.]]))
    """
    lengths = {len(values) for side in outputs for values in side}
    if len(lengths) == 1:
        return np.array(outputs[0]), np.array(outputs[1])
    wide = max(lengths)
    first, second = (
        np.array([np.append(np.pad(values, (0, wide - len(values))), len(values)) for values in side])
        for side in outputs
    )
    return first, second


def _attack(a: Floats, b: Floats, delta: float, wrong: float) -> tuple[float, float]:
    """Learn scores and thresholds on a third of the runs, test them on the rest."""
    third = len(a) // 3
    best = []
    for learn in (_linear, _laplace, _categorical):
        score = learn(a[:third], b[:third])
        known = [score(part) for part in (a[:third], b[:third], a[third:], b[third:])]
        for bound in (_epsilon_bound, _mu_bound):
            threshold, gain = _threshold(known[0], known[1], lambda f, m, bound=bound: bound(f, m, delta), wrong / 4)
            best.append((bound, gain, threshold, known[2:]))
    found = []
    for bound in (_epsilon_bound, _mu_bound):
        # the more promising score, judged on the runs it was learnt from; two bounds of two error rates, a quarter each
        _, _, threshold, (x, y) = max((entry for entry in best if entry[0] is bound), key=lambda entry: entry[1])
        errors = _errors(x, y, np.array([threshold]), wrong / 4)
        found.append(max(0.0, float(bound(*errors, delta)[0])))
    return found[0], found[1]


def _linear(a: Floats, b: Floats) -> Callable[[Floats], Floats]:
    apart, spread = b.mean(axis=0) - a.mean(axis=0), (a.var(axis=0) + b.var(axis=0)) / 2
    weights = apart * _inverse(spread, apart**2)
    return lambda outputs: np.asarray(outputs @ weights)


def _laplace(a: Floats, b: Floats) -> Callable[[Floats], Floats]:
    """The likelihood ratio of Laplace noise around two centres."""
    here, there = np.median(a, axis=0), np.median(b, axis=0)
    spread = (np.abs(a - here).mean(axis=0) + np.abs(b - there).mean(axis=0)) / 2
    rate = _inverse(spread, np.abs(there - here))
    return lambda outputs: np.asarray((np.abs(outputs - here) - np.abs(outputs - there)) @ rate)


def _inverse(spread: Floats, apart: Floats) -> Floats:
    """1/spread; where there is none, so much that what is apart without any noise outweighs all that has some.

    >>> _inverse(np.array([4.0, 0.0, 0.0]), np.array([1.0, 2.0, 0.0])).tolist()
    [0.25, 500000.0, 0.0]
    """
    spread = np.where(spread > 0, spread, apart / PLAIN)
    return np.divide(1.0, spread, out=np.zeros(len(spread)), where=spread > 0)


def _categorical(a: Floats, b: Floats) -> Callable[[Floats], Floats]:
    """The log of how much likelier the output is under b, for outputs seen often enough to tell."""
    values, where = np.unique(np.concatenate([a, b]), axis=0, return_inverse=True)
    where = where.ravel()
    counts = [np.bincount(part, minlength=len(values)) for part in (where[: len(a)], where[len(a) :])]
    logs = np.where(counts[0] + counts[1] >= 10, np.log((counts[1] + 1.0) / (counts[0] + 1.0)), 0.0)
    ratio = dict(zip(map(bytes, values), logs, strict=True))
    return lambda outputs: np.array([ratio.get(bytes(output), 0.0) for output in outputs])


def _threshold(x: Floats, y: Floats, bound: Callable[..., Floats], wrong: float) -> tuple[float, float]:
    candidates = np.quantile(np.concatenate([x, y]), np.linspace(0.005, 0.995, 199))
    gains = bound(*_errors(x, y, candidates, wrong))
    best = int(np.argmax(gains))
    return float(candidates[best]), float(gains[best])


def _errors(x: Floats, y: Floats, thresholds: Floats, wrong: float) -> tuple[Floats, Floats]:
    """Upper bounds on false alarms and misses of the test `score > threshold`."""
    alarms = (x[:, None] > thresholds).sum(axis=0)
    misses = (y[:, None] <= thresholds).sum(axis=0)
    return _upper(alarms, len(x), wrong), _upper(misses, len(y), wrong)


def _upper(hits: NDArray[np.int64], runs: int, wrong: float) -> Floats:
    from scipy.special import betaincinv

    return np.asarray(np.where(hits >= runs, 1.0, betaincinv(hits + 1.0, np.maximum(runs - hits, 1e-300), 1 - wrong)))


def _epsilon_bound(alarms: Floats, misses: Floats, delta: float) -> Floats:
    # (ε, δ)-DP means 1 - misses <= e^ε alarms + δ, and the same with the two exchanged
    with np.errstate(all="ignore"):
        forth = np.log(np.maximum(1 - misses - delta, 1e-300) / alarms)
        back = np.log(np.maximum(1 - alarms - delta, 1e-300) / misses)
    return np.maximum(forth, back)


def _mu_bound(alarms: Floats, misses: Floats, delta: float) -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri(1 - alarms) - ndtri(misses))
