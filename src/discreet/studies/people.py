"""Privacy for people, not rows: what it costs to protect a patient with all of their visits.

Data: "Diabetes 130-US hospitals, 1999-2008" (Strack et al., BioMed Research International 2014): 101,766 visits of
71,518 patients, up to 40 of one patient. A promise for rows protects a visit; a patient who came forty times has what
is left of it for forty rows together. Five ways to ask the same questions are compared: visits as if each were a
person's own (`rows`), at most one, two or five visits of each patient with noise for as many, and all visits sharing
what one may add, so that each patient counts once.

Each way answers a question of its own. Errors are measured from the exact value of that one: the mean over visits, over
the visits that are kept of each patient (on average over which), over patients of their own mean. What is learnt is
scored on the visits of patients who were held out, each visit counting once, and each patient counting once.

Public here, from what columns mean: stays from 1 to 14 days (the study took in no others); as counts of a hospital stay
no more than 100 lab tests, 10 procedures, 60 medications and 10 diagnoses; as visits in the year before no more than 20
outpatient, 10 emergency and 10 inpatient ones. Who is beyond counts as at the bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression as PlainLinear
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

import discreet as dc
from discreet import accounting, stats
from discreet.events import Gaussian
from discreet.labels import unit_name
from discreet.models import LinearRegression
from discreet.models.logistic import LogisticRegression
from discreet.studies.common import (
    DELTA,
    LINES,
    WIDTH,
    Floats,
    Outcome,
    Row,
    average_by,
    make_seed,
    mark_axis,
    place_names_above,
    run_fits,
    use_seeds,
    wrap_sentences,
)
from discreet.studies.visits import DAYS, MOST, Visits, load_visits

BOUNDS = dc.Bounds([0.0] * len(MOST), list(MOST.values()), target=DAYS)
CLASSES = dc.Bounds(BOUNDS.lower, BOUNDS.upper, classes=[0.0, 1.0])
EPSILONS = (0.1, 0.3, 1.0, 3.0)
REPEATS = 10
TEST = 0.2  # of the patients
SHARES = "people, shares"
# way -> at most so many rows of a unit; 0: rows by themselves
WAYS: dict[str, int | None] = {"rows": 0, "people, 1 visit": 1, "people, 2": 2, "people, 5": 5, SHARES: None}
PLAIN, PLAIN_PEOPLE = "not private, visits", "not private, people"
ERRORS = {"mean": "mean stay, error in days", "count": "count, relative error"}
SCORES = {"R2": "days in hospital, R²", "accuracy": "readmitted, accuracy", "AUC": "readmitted, AUC"}
BY_PATIENT = " by patient"
DIFFERENCES = {"R2": "days, R²", "AUC": "readmitted, AUC"}  # of the scores, what is drawn
REACH = 0.015  # of an axis of differences: less than a point of R² or AUC should look small
GROUPS = (2, 5)  # and the most visits of one patient


def run_study(quick: bool, data: str | None, workers: int) -> Outcome:
    """Every way and ε, on splits of patients of their own."""
    visits, repeats = load_visits(quick, data), 2 if quick else REPEATS
    rows = run_fits(run_repeat, [(visits, repeat) for repeat in range(repeats)], workers)
    where = "INVENTED visits, not the study's data: no data folder was found" if visits.made_up else "the source's data"
    head = f"{len(visits.days):,} visits of {len(np.unique(visits.patient)):,} patients ({where}); {repeats} repeats."
    return Outcome(rows, lambda figure: draw_figure(figure, rows), (WIDTH, 5.6), write_report(head, rows, visits))


def run_repeat(visits: Visits, repeat: int) -> list[Row]:
    """All measures of every way and ε on one split, and of fits without privacy."""
    rng = np.random.default_rng(make_seed(120, repeat))
    people = np.unique(visits.patient)
    held = np.isin(visits.patient, rng.permutation(people)[: round(TEST * len(people))])
    train, test = visits.take(~held), visits.take(held)
    best = {
        PLAIN: score_plain_models(train, test, np.ones(len(train.days))),
        PLAIN_PEOPLE: score_plain_models(train, test, 1 / train.visits),
    }
    found = [_make_rows(way, epsilon, repeat, best[way]) for way in best for epsilon in EPSILONS]
    for i, way in enumerate(WAYS):
        for epsilon in EPSILONS:
            start = make_seed(1200, repeat, i, round(100 * epsilon))
            with use_seeds():
                some = measure_errors(visits, way, epsilon, start) | score_private_models(
                    train, test, way, epsilon, start
                )
            found.append(_make_rows(way, epsilon, repeat, some))
    return [one for several in found for one in several]


def _make_rows(way: str, epsilon: float, repeat: int, values: dict[str, float]) -> list[Row]:
    cell = {"way": way, "epsilon": epsilon, "repeat": repeat}
    return [{**cell, "measure": name, "value": value} for name, value in values.items()]


def make_options(visits: Visits, way: str, start: int) -> Row:
    """What to ask with: the unit, and the limit on its rows."""
    limit = WAYS[way]
    unit: Row = {} if limit == 0 else {"unit": visits.patient, "max_rows_per_unit": limit}
    return {"random_state": start, **unit}


def compute_exact(visits: Visits, way: str) -> tuple[float, float]:
    """The mean stay and the count that a way is an estimate of: visits, or what is kept of each patient's."""
    limit, of_patient = WAYS[way], visits.visits
    kept = of_patient if limit == 0 else np.minimum(of_patient, limit or 1)
    weights = kept / of_patient
    return float(np.average(visits.days, weights=weights)), float(weights.sum())


def describe_estimand(visits: Visits, way: str) -> str:
    """The same in words."""
    mean, count = compute_exact(visits, way)
    return f"mean stay {mean:.4f} days, count {count:,.0f}"


def measure_errors(visits: Visits, way: str, epsilon: float, start: int) -> dict[str, float]:
    """How far a mean and a count are from their exact values."""
    mean, count = compute_exact(visits, way)
    asked = make_options(visits, way, start)
    # on an account, as the models are: Gaussian noise for all
    account = dc.Budget(epsilon, DELTA, unit=unit_name(asked.get("unit")))
    found = stats.mean(visits.days, DAYS, epsilon, DELTA, ledger=dc.Ledger(account), **asked)
    counted = stats.count(visits.days, epsilon, DELTA, ledger=dc.Ledger(account), **asked)
    return {"mean": abs(found.value - mean), "count": abs(counted.value - count) / count}


def score_private_models(train: Visits, test: Visits, way: str, epsilon: float, start: int) -> dict[str, float]:
    """How well private models do on patients they have not seen."""
    asked = make_options(train, way, start)
    line = LinearRegression(epsilon, DELTA, bounds=BOUNDS, **asked).fit(train.X, train.days)
    model = LogisticRegression(epsilon, DELTA, bounds=CLASSES, **asked).fit(train.X, train.back)
    return compute_scores(test, line.predict(test.X), model.decision_function(test.X))


def score_plain_models(train: Visits, test: Visits, weight: Floats) -> dict[str, float]:
    """The same of models without privacy, each visit with its weight; features clipped by the same bounds."""
    X, unseen = BOUNDS.scale(train.X), BOUNDS.scale(test.X)
    line = PlainLinear().fit(X, train.days, weight)
    model = PlainLogistic(C=1e4, max_iter=1000).fit(X, train.back, weight)
    return compute_scores(test, line.predict(unseen), model.decision_function(unseen))


def compute_scores(test: Visits, days: Floats, decision: Floats) -> dict[str, float]:
    """R², accuracy and AUC, by visit and by patient."""
    found = {}
    for name, weight in (("", None), (BY_PATIENT, 1 / test.visits)):
        found["R2" + name] = float(r2_score(test.days, days, sample_weight=weight))
        found["accuracy" + name] = float(accuracy_score(test.back, decision > 0, sample_weight=weight))
        found["AUC" + name] = float(roc_auc_score(test.back, decision, sample_weight=weight))
    return found


def describe_group(epsilon: float, size: int) -> str:
    """What the promise for a row is worth to so many rows of one person."""
    try:
        all_of_them = dc.Budget(epsilon, DELTA).group(size)
    except ValueError:
        return "nothing"
    return f"ε = {all_of_them.epsilon:g}, δ = {all_of_them.delta:.1g}"


def find_gaussian_epsilon(epsilon: float, size: int) -> float:
    """The same where all noise is Gaussian, of which more is known: its ε at the δ of the row."""
    sigma = accounting.noise_multiplier(epsilon, DELTA)
    return float(accounting.epsilon(Gaussian(sigma / size), DELTA))


# -- the picture and the words -----------------------------------------------------------------------------------------


def draw_figure(figure: Any, rows: list[Row]) -> None:
    """Errors against ε; and scores, less those of the fit without privacy on the same split of patients."""
    grid = figure.subplots(2, 3)
    for line, error, score in zip(grid, ERRORS, DIFFERENCES, strict=True):
        _draw_panel(line[0], average_by(rows, "value", "measure", "way", "epsilon"), error)
        line[0].set(title=ERRORS[error], yscale="log")
        for panel, by in zip(line[1:], ("", BY_PATIENT), strict=True):
            panel.axhline(0, color="0.3", linewidth=0.8, dashes=(1, 1), label="not private")
            _draw_panel(
                panel, average_by(subtract_plain(rows, score + by), "value", "measure", "way", "epsilon"), score + by
            )
            panel.set(title=f"{DIFFERENCES[score]}{by or ' by visit'}", ylim=(-REACH, REACH))
        line[1].set_ylabel("more than without privacy")
        line[2].set_yticklabels([])
    place_names_above(figure, grid[0, 1], 6)


def _draw_panel(panel: Any, found: dict[tuple[Any, ...], tuple[float, float]], measure: str) -> None:
    """A line for each way, with bars of two standard errors to either side."""
    for number, (way, look) in enumerate(zip(WAYS, LINES, strict=False)):
        mean, error = np.transpose([found[measure, way, epsilon] for epsilon in EPSILONS])
        apart = np.array(EPSILONS) * 1.07 ** (number - 2)  # side by side, so that bars do not lie on each other
        panel.errorbar(apart, mean, 2 * error, label=way, elinewidth=0.8, **look)
    mark_axis(panel, EPSILONS, "ε")


def subtract_plain(rows: list[Row], measure: str) -> list[Row]:
    """Scores less that of the fit without privacy on the same split: to visits by visit, to people by patient."""
    plain_way = PLAIN_PEOPLE if measure.endswith(BY_PATIENT) else PLAIN
    some = [row for row in rows if row["measure"] == measure]
    plain_of = {(row["epsilon"], row["repeat"]): row["value"] for row in some if row["way"] == plain_way}
    return [{**row, "value": row["value"] - plain_of[row["epsilon"], row["repeat"]]} for row in some]


def write_report(head: str, rows: list[Row], visits: Visits) -> str:
    """Tables of what was found, and what follows."""
    most = int(visits.visits.max())
    return "\n".join(
        [
            f"PEOPLE. {head}",
            "Source of the data: Strack et al. 2014. δ = 1e-6. Means over repeats ± standard errors, noise and splits.",
            "",
            "What a promise for one row is worth to all rows of one person; in brackets, where all noise is Gaussian.",
            *list_groups((*GROUPS, most)),
            "",
            "What each way is an estimate of.",
            *(f"  {way:16} {describe_estimand(visits, way)}" for way in WAYS),
            *(line for measure, title in ERRORS.items() for line in write_block(rows, measure, title)),
            *(
                line
                for name in ("", BY_PATIENT)
                for m in SCORES
                for line in write_block(rows, m + name, _write_title(m, name))
            ),
            "",
            *write_conclusions(rows, visits, most),
        ]
    )


def _write_title(measure: str, name: str) -> str:
    return f"{SCORES[measure]}{name or ' by visit'}"


def list_groups(sizes: tuple[int, ...]) -> list[str]:
    """What promises are worth to people with several rows."""
    return [
        f"  a row ε = {epsilon:<4g}"
        + "".join(
            f"   {size} rows: {describe_group(epsilon, size)} (ε = {find_gaussian_epsilon(epsilon, size):.1f})"
            for size in sizes
        )
        for epsilon in EPSILONS
    ]


def write_block(rows: list[Row], measure: str, title: str) -> list[str]:
    """One measure: a line for each way, a column for each ε."""
    found = average_by(rows, "value", "measure", "way", "epsilon")
    ways = [way for way in (*WAYS, PLAIN, PLAIN_PEOPLE) if (measure, way, EPSILONS[0]) in found]

    def write_cells(way: str) -> str:
        pairs = (found[measure, way, epsilon] for epsilon in EPSILONS)
        return "  ".join(f"{mean:8.5f} ± {error:7.5f}" for mean, error in pairs)

    columns = "  ".join(f"{f'ε = {epsilon:g}':18}" for epsilon in EPSILONS)
    return ["", f"{title}.", f"  {'':19} {columns}".rstrip(), *(f"  {way:19} {write_cells(way)}" for way in ways)]


def compare_shares(rows: list[Row], measure: str, other: str) -> str:
    """How much higher shares score than another way on the same splits, at each ε."""
    found = {(r["way"], r["epsilon"], r["repeat"]): r["value"] for r in rows if r["measure"] == measure}
    pairs = [
        {"epsilon": e, "value": value - found[other, e, repeat]}
        for (way, e, repeat), value in found.items()
        if way == SHARES
    ]
    means = average_by(pairs, "value", "epsilon")
    return ", ".join(f"{means[e,][0]:+.4f} ± {means[e,][1]:.4f} (ε = {e:g})" for e in EPSILONS)


def write_conclusions(rows: list[Row], visits: Visits, most: int) -> list[str]:
    """What follows, in this run's figures."""
    back = [float(np.average(visits.back, weights=weights)) for weights in (None, 1 / visits.visits)]
    return [
        wrap_sentences(
            f"A promise of ε = 1 for rows is worth {describe_group(1.0, most)} to the person with {most} of them",
            f"(ε = {find_gaussian_epsilon(1.0, most):.0f} where all noise is Gaussian),",
            f"and {describe_group(1.0, 2)} to one with two.",
            "A promise for people says ε = 1 to all of them.",
        ),
        wrap_sentences(
            "What a promise for people costs, each patient counting once, on the same splits: shares against rows,",
            f"R² {compare_shares(rows, 'R2' + BY_PATIENT, 'rows')};",
            f"AUC {compare_shares(rows, 'AUC' + BY_PATIENT, 'rows')}.",
            f"Against people without privacy, R² {compare_shares(rows, 'R2' + BY_PATIENT, PLAIN_PEOPLE)};",
            f"AUC {compare_shares(rows, 'AUC' + BY_PATIENT, PLAIN_PEOPLE)}.",
            "(Private fits may narrow the bounds that they are given, so that outliers count for less: they can beat",
            "a fit without privacy.)",
        ),
        wrap_sentences(
            f"Ways differ in what they are about: {back[0]:.1%} of visits are followed by another, and of a patient's",
            f"visits {back[1]:.1%} on average. Who comes often counts once with shares, up to m times with a limit,",
            "and each time with rows; no noise is in that difference, and no ε makes it go away.",
        ),
    ]
