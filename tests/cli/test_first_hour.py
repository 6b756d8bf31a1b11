"""What a newcomer does wrong in the first hour, in Python and on the command line: each is answered by what to do."""

import warnings

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.models import LinearRegression, LogisticRegression
from discreet.stats import mean

X = np.random.default_rng(0).uniform(0, 1, (400, 2))
Y = X.sum(axis=1)
LABELS = np.where(Y > 1, "a", "b")
FRAME = pl.DataFrame({"age": X[:, 0], "bmi": X[:, 1], "ward": LABELS, "cost": Y})
BOUNDS = dc.Bounds(0, 1, target=(0, 2))


def fitted(epsilon=1.0, delta=1e-6, X=X, y=Y, **more):
    return LinearRegression(epsilon, delta, **({"bounds": BOUNDS} | more)).fit(X, y)


PYTHON = {
    "bounds without a target": (lambda: fitted(bounds=dc.Bounds(0, 1)), "target=(low, high)"),
    "bounds as a pair": (lambda: fitted(bounds=(0, 1)), "discreet.Bounds(low, high, target=(low, high))"),
    "bounds of too many": (lambda: fitted(bounds=dc.Bounds([0] * 3, [1] * 3, target=(0, 2))), "for each feature"),
    "bounds of another column": (
        lambda: fitted(X=FRAME[["age", "bmi"]], bounds=dc.Bounds({"agee": (0, 1), "bmi": (0, 1)}, target=(0, 2))),
        "no bounds for ['age']; not in the data: ['agee']",
    ),
    "bounds the wrong way round": (lambda: mean(X[:, 0], (1, 0), epsilon=1.0), "with lower < upper. Got (1.0, 0.0)"),
    "a wrong target": (lambda: fitted(X=FRAME[["age", "bmi", "cost"]], y="cst"), "There are: ['age', 'bmi', 'cost']"),
    "a wrong unit": (lambda: fitted(X=FRAME[["age", "bmi"]], unit="person"), "There are: ['age', 'bmi']"),
    "epsilon as text": (lambda: fitted("1"), "must be a number. Got '1'. Hint: leave the quotes out"),
    "epsilon of zero": (lambda: fitted(0), "must be a finite number > 0"),
    "delta above one": (lambda: fitted(1.0, 5), "within [0, 1)"),
    "text among the features": (lambda: fitted(X=FRAME[["age", "ward"]]), "['ward']. Hint: encode categories"),
    "text as the target": (lambda: fitted(y=LABELS), "a classifier, such as LogisticRegression"),
    "classes of another type": (
        lambda: LogisticRegression(1.0, bounds=dc.Bounds(0, 1, classes=[0, 1])).fit(X, LABELS),
        "write the classes as y has them",
    ),
    "no target": (lambda: fitted(y=None), "requires y"),
    "a ledger by its path": (lambda: fitted(ledger="visits.ledger"), "Ledger.open(path, budget)"),
}


@pytest.mark.parametrize("mistake", PYTHON)
def test_in_python(mistake):
    attempt, told = PYTHON[mistake]
    with pytest.raises((ValueError, TypeError)) as error:
        attempt()
    assert told in str(error.value)


def test_delta_too_large_in_python():
    with pytest.warns(dc.DeltaWarning, match="Choose delta <= 3e-05"):
        fitted(1.0, 1e-3, n=400)


def test_fitting_twice_on_one_ledger_in_python():
    ledger = dc.Ledger(dc.Budget(1.0, 1e-6))
    fitted(1.0, 1e-6, ledger=ledger)
    with pytest.raises(dc.BudgetExceeded, match=r"Nothing was charged\. Hint: the budget is spent; go on with what"):
        fitted(1.0, 1e-6, ledger=ledger)
    assert len(ledger.entries) == 1


def test_running_out_of_budget_in_python():
    ledger = dc.Ledger(dc.Budget(1.0))
    mean(X[:, 0], (0, 1), epsilon=0.7, ledger=ledger)
    with pytest.raises(dc.BudgetExceeded, match=r"ε = 0\.3 is left of 1\. Nothing .* Hint: ask with epsilon <= 0\.3"):
        mean(X[:, 0], (0, 1), epsilon=0.7, ledger=ledger)
    assert mean(X[:, 0], (0, 1), epsilon=0.3, ledger=ledger).epsilon == 0.3


def test_missing_values_in_python_are_left_out():
    """Not an error: to stop at one would tell that there is one."""
    holes = X.copy()
    holes[::7] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(X=holes)
    assert np.isfinite(model.coef_).all() and np.isnan(model.predict(holes[:1])).all()


FIT = ["fit", "visits.csv", "-t", "cost", "-e", "1", "-o", "m.json"]
LINE = {
    "no facts": (["describe", "visits.csv", "-e", "1", "--facts", "none.toml"], "`discreet init DATA` writes it"),
    "no such file": (["describe", "visit.csv", "-e", "1"], "There is no file 'visit.csv'"),
    "a wrong target": ([*FIT[:3], "coost", *FIT[4:]], "Did you mean 'cost'?"),
    "a wrong feature": ([*FIT, "--features", "agee"], "Did you mean 'age'?"),
    "a wrong column": (["describe", "visits.csv", "-e", "1", "--columns", "wards"], "Did you mean 'ward'?"),
    "a column that is skipped": ([*FIT, "--features", "patient"], 'is of kind "skip"'),
    "a wrong model": ([*FIT, "-m", "logistics"], "Did you mean 'logistic'?"),
    "a model for numbers": ([*FIT[:3], "ill", *FIT[4:]], "is a category in privacy.toml. Hint: --model logistic"),
    "a model for classes": ([*FIT, "-m", "logistic"], "is a number in privacy.toml. Hint: --model linear"),
    "a delta too large": (["describe", "visits.csv", "-e", "1", "--delta", "0.1"], "must be below 0.1"),
    "a delta too large for a model": ([*FIT, "--delta", "0.5"], "must be below 0.1"),
    "a method that is none": (
        ["anonymise", "visits.csv", "-q", "age", "--method", "optmal", "-o", "x.csv"],
        "must be one of optimal",
    ),
    "l without a sensitive column": (
        ["anonymise", "visits.csv", "-q", "age", "--l", "2", "-o", "x.csv"],
        "Hint: --sensitive NAME",
    ),
    "a fraction of nothing": (["risk", "visits.csv", "-q", "age", "--fraction", "0", "-o", "x.txt"], "must be > 0"),
    "a model of the other kind": (
        ["frontier", "visits.csv", "-t", "cost", "--simulate", "--expected", "0.5", "--models", "svm", "-o", "x.png"],
        "Hint: --models linear",
    ),
    "more than the budget": ([*FIT[:5], "9", *FIT[6:]], "Hint: ask with epsilon <= 4"),
}


@pytest.mark.parametrize("mistake", LINE)
def test_on_the_command_line(table, mistake):
    arguments, told = LINE[mistake]
    result = table(*arguments)
    assert result.exit_code == 1 and told in result.stderr, result.output
    assert result.stderr.startswith("Error: ") and "Traceback" not in result.output and result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["describe", "visits.csv", "--epsilon", "one"], "such as 0.5"),
        (["describe", "visits.csv", "--epsilon", "-1"], "such as 0.5"),
        (["describe", "visits.csv", "-e", "1", "--delta", "5"], "such as 1e-6"),
        (["describe", "visits.csv"], "--epsilon"),
        (["descrbe", "visits.csv"], "No such command"),
        (
            ["frontier", "visits.csv", "-t", "cost", "--simulate", "--epsilons", "0.1,x", "-o", "f.png"],
            "--epsilons: it must be a number > 0",
        ),
    ],
)
def test_usage(table, arguments, told):
    result = table(*arguments)
    assert result.exit_code == 2 and told in " ".join(result.stderr.replace("│", " ").split()), result.output


def changed(table, old, new):
    path = table.folder / "privacy.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    return table("describe", "visits.csv", "-e", "1", "--columns", "age,ward")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("low = 0\n", "", "write the range that such numbers have by their meaning"),
        ("delta = 1e-6", "delta = 0.2", "must be below 0.1"),
        ("epsilon = 4.0", 'epsilon = "4.0"', "must be a number. Got '4.0'. Hint: leave the quotes out"),
        ("values = ", "value = ", "Did you mean 'values'?"),
        ("columns.age", "columns.Age", "There is no column 'age'"),
        ("visits.csv", "others.csv", "is about 'others.csv'"),
    ],
)
def test_mistakes_in_the_facts(table, old, new, told):
    result = changed(table, old, new)
    assert result.exit_code == 1 and told in result.stderr, result.output


def test_a_column_that_the_file_lacks(table):
    result = changed(table, "columns.age", 'columns.weight]\nkind = "skip"\n[columns.age')
    assert result.exit_code == 0
    path = table.folder / "visits.csv"
    path.write_text(path.read_text().replace("age", "years", 1))
    result = table("describe", "visits.csv", "-e", "1", "--columns", "age")
    assert result.exit_code == 1 and "has no columns ['age'], which privacy.toml names" in result.stderr


def test_fitting_twice_on_one_ledger(table):
    table(*FIT[:5], "4", *FIT[6:])
    result = table(*FIT[:5], "4", *FIT[6:-1], "again.json")
    assert result.exit_code == 1 and "Hint: the budget is spent" in result.stderr
    assert not (table.folder / "again.json").exists()


def test_another_budget_than_the_account_has(table):
    table("describe", "visits.csv", "-e", "1", "--columns", "age")
    result = changed(table, "epsilon = 4.0", "epsilon = 8.0")
    assert result.exit_code == 1 and "an account keeps its terms" in result.stderr


def test_categories_and_missing_cells_are_fine(table):
    path = table.folder / "visits.csv"
    lines = path.read_text().splitlines()
    lines[5::9] = [",,,,"] * len(lines[5::9])
    lines[6::9] = ["p1,not a number,moon,12,maybe"] * len(lines[6::9])
    path.write_text("\n".join(lines) + "\n")
    for arguments in (FIT, ["describe", "visits.csv", "-e", "1"]):
        result = table(*arguments)
        assert result.exit_code == 0, result.output
