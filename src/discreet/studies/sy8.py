"""Logistic regression on written fours and nines: error against n and ε, and noise against weights.

Source: I. B. Einarsson, "Machine Learning with Respect to Privacy" (DTU 2018), figures 4.14 to 4.17 and table A.1,
after Chaudhuri & Monteleoni (2009): MNIST's 4 and 9, 50 sizes of training data, weights of a logistic regression with
independent Laplace(2/(Nλε)) noise on each (its algorithm 2). It found errors of 3 to 4% down to ε = 0.1, no worse than
without noise, coin flips at ε = 0.0005, and noise smaller than the weights wherever the error is small.

That is not private at the ε it states, twice over. As stated: 2/(Nλ) bounds how far one row can move the weights in ℓ2;
independent Laplace noise needs ℓ1, up to √d times as much. As run: λ is of a *mean* of losses in the bound, of their
*sum* in the fit. No minimum of a mean of losses has weights longer than √(2 log 2/λ), 9.4 at the source's smallest λ;
those of its table A.1 are about 80 long. So the noise falls short by another factor of N. Both are run here, by numpy,
under the name NOT PRIVATE, and the privacy loss between neighbours is computed exactly: of Laplace noise of scale b it
is the ℓ1 distance of their weights over b.

λ is the source's at all rows, 0.0456 by its table A.1, at every size (the source tunes it on the data, for nothing).

Public here: the number of rows, pixels from 0 to 255 (rows divided by their own length for the source's), the two
classes. Neighbours differ in one row replaced, as in the source. Orientations: discreet.features, fixed and free.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as Plain

import discreet as dc
from discreet import accounting
from discreet.audit import audit
from discreet.events import Laplace, Pure, Repeated
from discreet.features import OrientationHistograms
from discreet.models.logistic import LogisticRegression
from discreet.studies.common import (
    DELTA,
    LINES,
    WIDTH,
    Digits,
    Floats,
    Outcome,
    Row,
    average_by,
    draw_band,
    load_fours_and_nines,
    make_seed,
    mark_axis,
    mark_error_axis,
    normalise_rows,
    place_two_lists,
    run_fits,
    use_seeds,
    wrap_sentences,
)

LAMBDA = 2 * math.sqrt(2) / (11_750 * math.sqrt(2.7807e-5))  # variance of the noise at ε = 1: 2·(2/(Nλ))²
EPSILONS = (0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0)
SHOWN = (0.1, 1.0)  # at which error is shown against n
COUNT = 50  # sizes
FEWER = (0.01, 0.05, 0.1, 1.0, 10.0)  # of private methods, which are slower
REPEATS, DRAWS = 5, 8
AS_RUN, AS_STATED = "source as run, NOT PRIVATE", "source as stated, NOT PRIVATE"
RIGHT = "as stated, with noise of gamma radius"
NO_NOISE = "no noise"
ORIENTED = "auto on orientations, δ = 1e-6"
# method -> (of LogisticRegression, δ)
METHODS: dict[str, tuple[Any, float]] = {
    "output, δ = 0": ("output", 0.0),
    "objective, δ = 0": ("objective-pure", 0.0),
    "objective, δ = 1e-6": ("objective", DELTA),
    "SGD, δ = 1e-6": ("sgd", DELTA),
    "auto, δ = 1e-6": ("auto", DELTA),
    ORIENTED: ("auto", DELTA),
}
LOOKS = (*LINES, {"color": "0.0", "linestyle": "-", "marker": "*"})
RUNS = 2000  # of the audit


def run_study(quick: bool, data: str | None, workers: int) -> Outcome:
    """Every method, size and ε, with the rows in another order each time."""
    images = load_fours_and_nines(quick, data)
    most = len(images.X) if quick else len(images.X) // COUNT * COUNT
    sizes = (most // 5, most) if quick else tuple(most * k // COUNT for k in range(1, COUNT + 1))
    epsilons, fewer = (SHOWN, SHOWN) if quick else (EPSILONS, FEWER)
    repeats = 1 if quick else REPEATS
    features = compute_orientations(images)
    cells = [(most, epsilon) for epsilon in fewer] + [(n, epsilon) for n in sizes[-2::-1] for epsilon in SHOWN]
    rows = run_fits(private_errors, [(images, features, r, *cell) for cell in cells for r in range(repeats)], workers)
    rows += run_fits(source_errors, [(images, r, n, epsilons) for r in range(repeats) for n in sizes], workers)
    truth = measure_losses(images, most, 0.1)
    rows += [make_row(name, "privacy loss at ε = 0.1", most, 0.1, 0, value) for name, value in truth.items()]
    where = "scikit-learn's digits, NOT the study's data: no data folder was found" if images.made_up else "MNIST"
    head = f"SY8. Fours and nines ({where}): {most} images of {images.X.shape[1]} pixels; {repeats} orders of the rows."
    text = write_report(head, rows, truth, most, epsilons)
    return Outcome(rows, lambda figure: draw_figure(figure, rows, sizes, epsilons, fewer), (WIDTH, 9.5), text)


def make_row(method: str, measure: str, n: int, epsilon: float, repeat: int, value: float) -> Row:
    """A row of the CSV."""
    return {"method": method, "measure": measure, "n": n, "epsilon": epsilon, "repeat": repeat, "value": float(value)}


def compute_orientations(images: Digits) -> tuple[Floats, Floats, dc.Bounds]:
    """Orientations of all images, to learn from and to test on, and their bounds."""
    features = OrientationHistograms(images.shape, bounds=dc.Bounds(0, images.white))
    made = features.fit_transform(images.X.astype(np.float64)), features.transform(images.test_X.astype(np.float64))
    return (*made, features.out_bounds)


def choose_rows(images: Digits, repeat: int, n: int) -> Any:
    """The first n rows in the order of a repeat."""
    return np.random.default_rng(make_seed(80, repeat)).permutation(len(images.X))[:n]


def private_errors(images: Digits, features: Any, repeat: int, n: int, epsilon: float) -> list[Row]:
    """The error of every private method at one size and ε."""
    rows = choose_rows(images, repeat, n)
    pixels = images.X[rows].astype(np.float64), images.test_X.astype(np.float64), dc.Bounds(0, images.white)
    orientations = features[0][rows], *features[1:]
    found = []
    for i, (method, (name, delta)) in enumerate(METHODS.items()):
        X, test, bounds = orientations if method == ORIENTED else pixels
        public: Row = {"n": n, "bounds": bounds, "classes": [4, 9], "neighbours": "replace-one"}
        start = make_seed(800, repeat, n, i, round(1e4 * epsilon))
        with use_seeds():
            model = LogisticRegression(epsilon, delta, method=name, **public, random_state=start)
            error = 1 - model.fit(X, images.y[rows]).score(test, images.test_y)
        found.append(make_row(method, "error", n, epsilon, repeat, error))
    return found


# -- the source's method, NOT PRIVATE ----------------------------------------------------------------------------------


def find_penalty(variant: str, n: int) -> float:
    """Of the penalty on a sum of losses: λ as run; nλ, which is λ for their mean, as stated."""
    return LAMBDA if variant == AS_RUN else n * LAMBDA


def fit_weights(U: Floats, signs: Floats, of: float) -> Floats:
    """The exact minimum of a sum of losses and a penalty of this strength. NOT PRIVATE."""
    if len(np.unique(signs)) < 2:
        return np.zeros(U.shape[1])
    model = Plain(C=1 / of, fit_intercept=False, tol=1e-6, max_iter=5000).fit(U, signs)
    return np.asarray(model.coef_[0])


def find_noise_scale(n: int, epsilon: float) -> float:
    """Of the source's noise: 2/(Nλε)."""
    return 2 / (n * LAMBDA * epsilon)


def draw_gamma_noise(rng: np.random.Generator, d: int, size: float) -> Floats:
    """Noise of density ~ exp(-‖z‖/size), the right one for an ℓ2 bound; for the picture, hence by numpy."""
    direction = rng.normal(size=d)
    return np.asarray(rng.gamma(d, size) * direction / np.linalg.norm(direction))


def source_errors(images: Digits, repeat: int, n: int, epsilons: tuple[float, ...]) -> list[Row]:
    """Error, and noise over weights, of the source's method at one size. NOT PRIVATE."""
    rows = choose_rows(images, repeat, n)
    rng = np.random.default_rng(make_seed(81, repeat, n))
    U, signs, d = normalise_rows(images.X[rows]), np.where(images.y[rows] == 9, 1.0, -1.0), images.X.shape[1]
    test, truth = normalise_rows(images.test_X), images.test_y == 9
    found = []
    for variant in (AS_RUN, AS_STATED):
        w = fit_weights(U, signs, find_penalty(variant, n))
        for epsilon in epsilons:
            noise = rng.laplace(scale=find_noise_scale(n, epsilon), size=(DRAWS, d))
            wrong = ((test @ (w + noise).T > 0) != truth[:, None]).mean()
            found.append(make_row(variant, "error", n, epsilon, repeat, wrong))
            found.append(
                make_row(variant, "noise over weights", n, epsilon, repeat, compute_rms(noise) / compute_rms(w))
            )
            if variant == AS_STATED:
                noise = np.array([draw_gamma_noise(rng, d, find_noise_scale(n, epsilon)) for _ in range(DRAWS)])
                wrong = ((test @ (w + noise).T > 0) != truth[:, None]).mean()
                found.append(make_row(RIGHT, "error", n, epsilon, repeat, wrong))
                found.append(
                    make_row(RIGHT, "noise over weights", n, epsilon, repeat, compute_rms(noise) / compute_rms(w))
                )
        if variant == AS_RUN:
            wrong = ((test @ w > 0) != truth).mean()
            found += [make_row(NO_NOISE, "error", n, epsilon, repeat, wrong) for epsilon in epsilons]
    return found


def compute_rms(values: Floats) -> float:
    """The root of the mean square."""
    return float(np.sqrt(np.mean(values**2)))


def measure_losses(images: Digits, n: int, epsilon: float) -> dict[str, float]:
    """What the source's noise really gives, at a declared ε: certified, computed between neighbours, audited."""
    d = images.X.shape[1]
    rows = choose_rows(images, 0, n)
    U, signs = normalise_rows(images.X[rows]), np.where(images.y[rows] == 9, 1.0, -1.0)
    found = {"as stated, certified": math.sqrt(d) * epsilon, "as run, certified": n * math.sqrt(d) * epsilon}
    # a shift that all weights share: of each, Δ/√d, where the noise is Laplace(Δ/ε)
    shared = Repeated(Laplace(math.sqrt(d) / epsilon), d)
    found["as stated, at δ = 1e-6"] = accounting.epsilon(shared, DELTA)
    for name, variant in (("as stated", AS_STATED), ("as run", AS_RUN)):
        of = find_penalty(variant, n)
        # all images black but one, which is white, and a four here and a nine there: weights ±ω/√d
        omega = brentq(lambda w, of=of: of * w - expit(-w), 0.0, 50.0)
        found[f"{name}, black images and a white one"] = 2 * omega * math.sqrt(d) / find_noise_scale(n, epsilon)
        here, there = change_label(U, signs, of)
        found[f"{name}, one label changed"] = float(np.abs(here - there).sum() / find_noise_scale(n, epsilon))
    rng = np.random.default_rng(make_seed(82))
    toward = np.sign(there - here)

    def release_projection(w: Floats) -> float:
        return float(toward @ (w + rng.laplace(scale=find_noise_scale(n, epsilon), size=d)))

    found["as run, audited"] = audit(release_projection, here, there, event=Pure(epsilon), runs=RUNS).epsilon
    return found


def change_label(U: Floats, signs: Floats, of: float) -> tuple[Floats, Floats]:
    """Weights before and after the label of one row is changed, the row whose label seems to matter most."""
    here = fit_weights(U, signs, of)
    p = expit(U @ here)
    curvature = (U * (p * (1 - p))[:, None]).T @ U + of * np.eye(U.shape[1])
    matters = np.abs(np.linalg.solve(curvature, U.T)).sum(axis=0)
    changed = signs.copy()
    changed[np.argmax(matters)] *= -1
    return here, fit_weights(U, changed, of)


# -- the picture and the words -----------------------------------------------------------------------------------------


def draw_figure(
    figure: Any,
    rows: list[Row],
    sizes: tuple[int, ...],
    epsilons: tuple[float, ...],
    fewer: tuple[float, ...],
) -> None:
    """The source's figure 4.14; then its method beside private ones, against n and ε; noise over weights."""
    errors = average_by((r for r in rows if r["measure"] == "error"), "value", "method", "n", "epsilon")
    ratios = average_by((r for r in rows if r["measure"] == "noise over weights"), "value", "method", "n", "epsilon")
    panels = figure.subplots(3, 2).ravel()
    top, bottom = panels[:3], panels[3:]
    picked = [e for e in epsilons if e in (0.0005, 0.005, 0.01, 0.1, 1.0)]
    for epsilon, look in zip(picked, LINES, strict=False):
        draw_band(
            top[0], sizes, [errors[AS_RUN, n, epsilon] for n in sizes], f"ε = {epsilon:g}", {**look, "marker": ""}
        )
    top[0].set(title=AS_RUN)
    top[0].legend(loc="lower left", ncols=2)
    for panel, epsilon in zip(top[1:], SHOWN, strict=True):
        for method, look in zip((AS_RUN, AS_STATED, *METHODS), LOOKS, strict=True):
            draw_band(panel, sizes, [errors[method, n, epsilon] for n in sizes], method, {**look, "markevery": 7})
        panel.set(title=f"ε = {epsilon:g}")
    for panel in top:
        panel.plot(sizes, [errors[NO_NOISE, n, SHOWN[0]][0] for n in sizes], color="0.3", linewidth=0.8, dashes=(1, 1))
        panel.set_ylabel("error")
        mark_axis(panel, [n for n in sizes if round(n / sizes[0]) in (1, 2, 5, 10, 25, 50)], "images")
        mark_error_axis(panel)
    for method, look in zip((AS_RUN, AS_STATED, *METHODS), LOOKS, strict=True):
        tried = fewer if method in METHODS else epsilons
        draw_band(bottom[0], tried, [errors[method, sizes[-1], e] for e in tried], method, look)
    bottom[0].set(xscale="log", xlabel="ε", ylabel="error", title=f"{sizes[-1]:,} images")
    mark_error_axis(bottom[0])
    looks = iter(LINES)
    for method, short in ((AS_RUN, "as run"), (RIGHT, "the right one")):
        for n in sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]}):
            values = [ratios[method, n, e] for e in epsilons]
            draw_band(bottom[1], epsilons, values, f"{short}, {n:,}", next(looks))
    bottom[1].axhline(1, color="0.3", linewidth=0.8, dashes=(1, 1))
    bottom[1].set(xscale="log", yscale="log", xlabel="ε", ylabel="noise over weights", title="root mean squares")
    for panel in bottom[:2]:
        panel.xaxis.set_major_formatter("{x:g}")
    place_two_lists(bottom[2], {"errors (dotted: no noise, not private)": bottom[0], "noise, and images": bottom[1]}, 2)


def write_report(
    head: str,
    rows: list[Row],
    truth: dict[str, float],
    n: int,
    epsilons: tuple[float, ...],
) -> str:
    """What the source found, what this run found, and why they differ."""
    errors = average_by((r for r in rows if r["measure"] == "error"), "value", "method", "n", "epsilon")
    ratios = average_by((r for r in rows if r["measure"] == "noise over weights"), "value", "method", "n", "epsilon")
    epsilon = 0.1

    def write_line(found: Any, method: str, form: str) -> str:
        cells = (format(found[method, n, e][0], form) if (method, n, e) in found else "      -" for e in epsilons)
        return f"  {method:38} {' '.join(cells)}"

    def write_error(method: str) -> str:
        return f"{errors[method, n, epsilon][0]:.1%}"

    everything = (NO_NOISE, AS_RUN, AS_STATED, RIGHT, *METHODS)
    return "\n".join(
        [
            head,
            "",
            f"  {f'Error with {n} images; ε =':38} {' '.join(f'{e:7g}' for e in epsilons)}",
            *(write_line(errors, method, "7.3f") for method in everything),
            "  Noise over weights (root mean squares)",
            *(write_line(ratios, method, "7.2g") for method in (AS_RUN, AS_STATED, RIGHT)),
            "",
            "Privacy loss where ε = 0.1 is declared.",
            *(f"  {name:44} {value:12,.2f}" for name, value in truth.items()),
            "",
            wrap_sentences(
                "Source: an error of 3 to 4% down to ε = 0.1, as without noise. Here at ε = 0.1:",
                f"{write_error(AS_RUN)} as run and {write_error(NO_NOISE)} without noise: so it is,",
                "and it is not private.",
                f"One label changed among the {n} moves the weights by",
                f"{truth['as run, one label changed']:,.0f} times the noise's scale: no smaller ε holds. An audit of",
                f"{RUNS} runs certifies {truth['as run, audited']:.1f}, about the most so many runs can.",
            ),
            wrap_sentences(
                "As stated, with λ for the mean of losses, ε = 0.1 is certified as",
                f"{truth['as stated, certified']:.1f} only, and neighbours exist between which it is",
                f"{truth['as stated, black images and a white one']:.2f} (at δ = 1e-6, for a shift that all weights",
                f"share, it is {truth['as stated, at δ = 1e-6']:.2f}); the error is {write_error(AS_STATED)},",
                f"and with the right noise {write_error(RIGHT)}.",
            ),
            wrap_sentences(
                "Private at ε = 0.1:",
                "; ".join(f"{method} {write_error(method)}" for method in METHODS) + ".",
                "Noise below the weights is no sign of privacy: as run it is",
                f"{ratios[AS_RUN, n, epsilon][0]:.2g} of them, the right noise at the stated λ is",
                f"{ratios[RIGHT, n, epsilon][0]:.2g} times as large.",
            ),
        ]
    )
