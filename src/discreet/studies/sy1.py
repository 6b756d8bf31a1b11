"""A mean against the number of people: in the centre, and where everybody adds their own noise.

Source: a review of "methods for privacy-aware data science", section 8.1 and figure 4: the mean of a normal variable,
with central noise at ε = 1, 0.25 and 0.15 and local Laplace noise at α = 0.5, truncated at T = (nα²)^(1/4); it found
that "increasing the sample sizes required by 10 in the worst case" is what local privacy costs.

The source's central noise is not private: its sensitivity is the largest change when one of *these* people is left
out. Its local rule "dispersion α/2T" has the scale upside down; here it is 2T/α. T for two known moments grows with
n, and the noise with it; a fixed, public T does better, and must be chosen with care: the data are shifted off zero
here too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import discreet as dc
from discreet import stats
from discreet.local import Estimate, Survey, answer_many
from discreet.studies.common import (
    LINES,
    WIDTH,
    Outcome,
    Row,
    average_by,
    draw_band,
    make_seed,
    mark_axis,
    place_names_above,
    run_fits,
    use_seeds,
    wrap_sentences,
)

SIZES = (50, 100, 500, 2000, 10_000)
SHIFTS = (0.0, 1.5)
EPSILONS = (1.0, 0.25, 0.15)
ALPHA = 0.5
REPEATS = 200
SOURCE = "source, central (NOT PRIVATE)"
CENTRAL = "central, bounds ±4"
LOCAL = {
    "source, local": ("laplace", 0.0),
    "one bit, T of the source": ("bit", 0.0),
    "one bit, T = 2": ("bit", 2.0),
    "auto, T = 4": ("auto", 4.0),
}


def run_study(quick: bool, data: str | None, workers: int) -> Outcome:
    """Squared errors of the mean, against the mean of the people, of every method and number of people."""
    sizes = (50, 500, 2000) if quick else SIZES
    repeats = 8 if quick else REPEATS
    rows = run_fits(measure_errors, [(repeat, sizes) for repeat in range(repeats)], workers)
    return Outcome(
        rows, lambda figure: draw_figure(figure, rows, sizes), (WIDTH, 3.8), write_report(rows, sizes, repeats)
    )


def measure_errors(repeat: int, sizes: tuple[int, ...]) -> list[Row]:
    """Of one draw of people."""
    rows = []
    for n in sizes:
        for shift in SHIFTS:
            rng = np.random.default_rng(make_seed(1, repeat, n, round(10 * shift)))
            x = rng.normal(shift, 1, n)
            found: list[tuple[str, float, float]] = []
            for epsilon in EPSILONS:
                spread = np.abs(x - x.mean()).max() / (n - 1)
                found.append((SOURCE, epsilon, x.mean() + rng.laplace(scale=spread / epsilon)))
                start = make_seed(10, repeat, n, round(100 * epsilon))
                with use_seeds():
                    options: Row = {
                        "bounds": dc.Bounds(-4, 4),
                        "neighbours": "replace-one",
                        "random_state": start,
                        "n": n,
                    }
                    found.append((CENTRAL, epsilon, float(stats.mean(x, epsilon=epsilon, **options).value)))
            for method, (way, bound) in LOCAL.items():
                found.append(
                    (method, ALPHA, local_mean(x, way, bound or (n * ALPHA**2) ** 0.25, make_seed(11, repeat, n)))
                )
            cell = {"n": n, "shift": shift, "repeat": repeat}
            rows += [{"method": m, "epsilon": e, **cell, "squared_error": (v - x.mean()) ** 2} for m, e, v in found]
    return rows


def local_mean(x: Any, method: str, bound: float, start: int) -> float:
    """The mean of reports of numbers within ±bound."""
    survey = Survey.number("x", -bound, bound, ALPHA, method=method)
    tally = Estimate(survey)
    tally.add_many(answer_many(survey, x, random_state=start))
    return float(tally.value)


def draw_figure(figure: Any, rows: list[Row], sizes: tuple[int, ...]) -> None:
    """Root mean squared errors against n, for data about zero and off zero."""
    found = average_by(rows, "squared_error", "method", "epsilon", "n", "shift")
    panels = figure.subplots(1, len(SHIFTS), sharey=True)
    lines = [(SOURCE, 1.0), (CENTRAL, 1.0), (CENTRAL, 0.15), *((name, ALPHA) for name in LOCAL)]
    for panel, shift in zip(panels, SHIFTS, strict=True):
        for (method, epsilon), look in zip(lines, LINES, strict=False):
            cells = [found[method, epsilon, n, shift] for n in sizes]
            draw_band(panel, sizes, [(np.sqrt(mean), 0.0) for mean, _ in cells], f"{method}, ε = {epsilon:g}", look)
        panel.set(yscale="log", title=f"N({shift:g}, 1)")
        mark_axis(panel, sizes, "people")
    panels[0].set_ylabel("root mean squared error")
    place_names_above(figure, panels[0], 3)


def write_report(rows: list[Row], sizes: tuple[int, ...], repeats: int) -> str:
    """What the source found, what this run found, and why they differ."""
    found = average_by(rows, "squared_error", "method", "epsilon", "n", "shift")
    kinds = [*((m, e) for m in (SOURCE, CENTRAL) for e in EPSILONS), *((m, ALPHA) for m in LOCAL)]
    lines = [
        f"SY1. The mean of N(shift, 1): mean squared error × 10⁴ against the people's own mean; {repeats} repeats."
    ]
    for shift in SHIFTS:
        lines += ["", f"shift {shift:g}; n = {' '.join(map(str, sizes))}"]
        for method, epsilon in kinds:
            cells = " ".join(f"{1e4 * found[method, epsilon, n, shift][0]:9.2f}" for n in sizes)
            lines.append(f"  {method:32} ε = {epsilon:<5g}{cells}")
    last = sizes[-1]
    ratio = found["source, local", ALPHA, last, 0.0][0] / found["one bit, T = 2", ALPHA, last, 0.0][0]
    off = found["one bit, T = 2", ALPHA, last, 1.5][0] / found["auto, T = 4", ALPHA, last, 1.5][0]
    return "\n".join(
        [
            *lines,
            "",
            wrap_sentences(
                "Source: local privacy costs ten times the people at worst. Its central noise is read off the data (of",
                "a constant table it is zero, so that no ε holds), and its local noise is larger than it need be:",
                f"at n = {last} one bit within ±2 has {ratio:.0f} times less error. For data about zero, cutting at ±2",
                f"costs nothing. Shifted by 1.5, its squared error at n = {last} is {off:.1f} times that within ±4,",
                "and what is cut off does not shrink with n: bounds are public facts, and guessing them has its price.",
            ),
        ]
    )
