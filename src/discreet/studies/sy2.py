"""Twenty-seven proportions at once, everybody adding their own noise: largest error against the number of people.

Source: a review of "methods for privacy-aware data science", section 8.2 and figure 5: proportions of 27 drugs among
1,000 people, by a sampler called minimax optimal, against Laplace noise. It found the sampler "within 10⁻¹ of the
non-private estimate" at about 500 people. α is not stated; neither is the table at hand, and the source simulated it
too: here the columns are independent, with proportions from 0.02 to 0.60, evenly, and α = 1.

The source's sampler draws from a cube where it must draw from its vertices: on average a report is 0.57 (by its
formula) or 1.15 (by its code) times the person's vector, so that its error does not go to zero. Numbers of 0 and 1
are better mapped to −1 and 1 first; and asking each person for one drug is better still.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.local import Estimate, Survey, answer_many
from discreet.studies.common import (
    LINES,
    WIDTH,
    Floats,
    Outcome,
    Row,
    average_by,
    draw_band,
    make_seed,
    mark_axis,
    place_names_above,
    run_fits,
    wrap_sentences,
)

D, ALPHA = 27, 1.0
SHARES = np.linspace(0.02, 0.6, D)
SIZES = (100, 500, 1000, 10_000, 100_000)
REPEATS = 20
CODE, FORMULA = "source's code (cube, 2B)", "source's formula (cube, B)"
LAPLACE, RAW, MAPPED, AUTO = "Laplace", "vertices on [-1, 1]", "vertices, x → 2x − 1", "auto: one drug each"
METHODS = (LAPLACE, CODE, FORMULA, RAW, MAPPED, AUTO)


def run_study(quick: bool, data: str | None, workers: int) -> Outcome:
    """Largest errors of all methods and numbers of people."""
    sizes = (100, 500, 1000) if quick else SIZES
    repeats = 2 if quick else REPEATS
    rows = run_fits(measure_errors, [(repeat, sizes) for repeat in range(repeats)], workers)
    return Outcome(
        rows, lambda figure: draw_figure(figure, rows, sizes), (WIDTH * 0.7, 4.2), write_report(rows, sizes, repeats)
    )


def measure_errors(repeat: int, sizes: tuple[int, ...]) -> list[Row]:
    """Of one draw of people."""
    rows = []
    for n in sizes:
        if n > 10_000 and repeat > 1:
            continue
        rng = np.random.default_rng(make_seed(2, repeat, n))
        X = (rng.random((n, D)) < SHARES).astype(np.float64)
        estimates = {
            LAPLACE: release_laplace_means(X, make_seed(20, repeat, n)),
            **{name: sample_cube(X, rng, name == CODE) for name in (CODE, FORMULA)},
            RAW: local_means(X, -1, "vertices", make_seed(21, repeat, n)),
            MAPPED: local_means(X, 0, "vertices", make_seed(22, repeat, n)),
            AUTO: local_means(X, 0, "auto", make_seed(23, repeat, n)),
        }
        cell = {"n": n, "repeat": repeat}
        rows += [{"method": m, **cell, "error": float(np.abs(v - X.mean(0)).max())} for m, v in estimates.items()]
        rows.append({"method": "sampling error", **cell, "error": float(np.abs(X.mean(0) - SHARES).max())})
    return rows


def local_means(X: Floats, low: int, method: str, start: int) -> Floats:
    """Means of reports of all columns together."""
    survey = Survey.vector("drugs", D, ALPHA, low=low, high=1, method=method)
    tally = Estimate(survey)
    tally.add_many(answer_many(survey, X, random_state=start))
    return np.asarray(tally.value)


def release_laplace_means(X: Floats, start: int) -> Floats:
    """Means of reports of each column alone, with a 27th of α each."""
    survey, means = Survey.number("drug", 0, 1, ALPHA / D, method="laplace"), []
    for column, x in enumerate(X.T):
        tally = Estimate(survey)
        tally.add_many(answer_many(survey, x, random_state=start + column))
        means.append(tally.value)
    return np.array(means)


def sample_cube(X: Floats, rng: np.random.Generator, code: bool) -> Floats:
    """The source's sampler: a point of the cube where it must be a vertex; its code doubles the side. NOT PRIVATE."""
    bound = compute_half_side() * (2 if code else 1)
    corner = np.where(rng.random(X.shape) < 0.5 + X / 2, 1.0, -1.0)
    point = rng.uniform(-1, 1, X.shape)
    side = np.where(rng.random(len(X)) < math.exp(ALPHA) / (1 + math.exp(ALPHA)), 1.0, -1.0)
    sign = np.sign((point * corner).sum(1)) * side
    radius = X.max(1) if code else np.ones(len(X))  # the code: of each row, so that who takes nothing sends nothing
    return np.asarray((point * (bound * sign * radius)[:, None]).mean(0))


def compute_half_side() -> float:
    """B of the source, for odd d."""
    return float(2 ** (D - 1)) / math.comb(D - 1, D // 2) * (math.exp(ALPHA) + 1) / (math.exp(ALPHA) - 1)


def measure_slope(code: bool, n: int = 200_000) -> float:
    """What the source's sampler reports on average, over what the person's vector is."""
    return float(sample_cube(np.ones((n, D)), np.random.default_rng(0), code).mean())


def draw_figure(figure: Any, rows: list[Row], sizes: tuple[int, ...]) -> None:
    """Largest error against n."""
    panel, found = figure.subplots(), average_by(rows, "error", "method", "n")
    for method, look in zip((*METHODS, "sampling error"), LINES, strict=True):
        draw_band(panel, sizes, [found[method, n] for n in sizes], method, look)
    panel.plot(sizes, [compute_minimax_rate(n) for n in sizes], color="0.8", label="√(d ln d/(nα²))")
    panel.set(yscale="log", ylabel="largest error of a proportion")
    mark_axis(panel, sizes, "people")
    place_names_above(figure, panel, 3)


def compute_minimax_rate(n: int) -> float:
    """The rate of the best local method, without its constant."""
    return math.sqrt(D * math.log(D) / (n * ALPHA**2))


def write_report(rows: list[Row], sizes: tuple[int, ...], repeats: int) -> str:
    """What the source found, what this run found, and why they differ."""
    found = average_by(rows, "error", "method", "n")
    lines = [
        f"SY2. Largest error of {D} proportions, 0.02 to 0.60 (simulated: the source's table is not at hand).",
        f"α = {ALPHA:g}; {repeats} repeats, 2 at n = 100,000; n = {' '.join(map(str, sizes))}.",
    ]
    for method in (*METHODS, "sampling error"):
        lines.append(f"  {method:28}" + " ".join(f"{found[method, n][0]:8.3f}" for n in sizes))
    lines.append(f"  {'√(d ln d/(nα²))':28}" + " ".join(f"{compute_minimax_rate(n):8.3f}" for n in sizes))
    here, many = sizes[1], found[AUTO, sizes[-1]][0] ** 2 * sizes[-1] / 0.1**2
    return "\n".join(
        [
            *lines,
            "",
            wrap_sentences(
                f"Source: within 0.1 of the non-private estimate at about 500 people. Here, at n = {here}, the",
                "best has an",
                f"error of {found[AUTO, here][0]:.2f}; 0.1 takes about {round(many, -2):,.0f} people.",
                f"The source's sampler is biased: on average it reports {measure_slope(False):.2f} (formula) or",
                f"{measure_slope(True):.2f} (code)",
                "times the vector, and its error stops falling.",
                f"Mapping 0 and 1 to −1 and 1 divides the error at n = {here} by",
                f"{found[RAW, here][0] / found[MAPPED, here][0]:.1f}",
                "and costs nothing; asking for one drug each, by another",
                f"{found[MAPPED, here][0] / found[AUTO, here][0]:.2f}.",
            ),
        ]
    )
