"""Every estimator and statistic, in each of its ways, on one small table; and what a seeded run of it leaves."""

import hashlib
import inspect
import warnings
from typing import get_args, get_type_hints

import numpy as np
import polars as pl
from sklearn.base import clone

import discreet as dc
from discreet import checks, stats
from discreet.checks.replay import left_by
from discreet.checks.specimens import ordinary

SEED, ROWS = 20, 400
QUICK = {"draws": 50, "chains": 1}  # where a posterior is sampled
COLUMNS = ("a", "b", "c")  # the features, in files

RELATIONS = {
    "": {},
    "pure": {"delta": 0.0},
    "pure, public n": {"delta": 0.0, "n": ROWS},
    "replace-one": {"neighbours": "replace-one"},
    "public n": {"n": ROWS},
    "unknown bounds": {"bounds": None},
    "unknown classes": {"classes": None, "epsilon": 8.0},
    "people": {"unit": "person"},
    "people, limited": {"unit": "person", "max_rows_per_unit": 3},
    "account": {"ledger": "shared"},
}
OF_METHODS = ("", "pure", "pure, public n", "replace-one")  # other relations do not depend on the method


def specimens():
    """A function for each specimen: it fits rows, of the table in memory if None, and returns what is left."""
    found = {}
    for name, estimator in checks.private_estimators().items():
        for way, options in ways_of(type(estimator)):
            for relation in OF_METHODS if way else RELATIONS:
                found[_title(name, way, relation)] = Fit(estimator, options | RELATIONS[relation])
    for name, search in checks.private_searches().items():
        found[_title("PrivateSearchCV", name)] = Fit(search, {})
    for name in checks.private_statistics():
        for relation, options in RELATIONS.items():
            if relation != "unknown classes":
                found[_title(name, relation)] = Question(name, options)
    return found


def _title(*words):
    return ", ".join(filter(None, words))


def ways_of(kind):
    """What the types of an estimator's parameters list: its methods, noises, maps of rows and losses."""
    hints, parameters = get_type_hints(kind), inspect.signature(kind).parameters
    yield "", {}
    for name in ("method", "noise", "rows", "loss"):
        if name in parameters:
            for value in get_args(hints[name]):
                if isinstance(value, str) and value != parameters[name].default:
                    needs = {"method": "adassp"} if name in ("noise", "rows") and "method" in parameters else {}
                    yield f"{name}={value}", {name: value} | needs


class Specimen:
    def __init__(self, options):
        self.options = options

    def given(self, person):
        """The options, with what cannot be written in a table of them."""
        given = dict(self.options)
        if "unit" in given and person is not None:
            given["unit"] = pl.Series("person", person.tolist())
        if "ledger" in given:
            given["ledger"] = dc.Ledger(dc.Budget(9.0, 1e-5, unit="person" if "unit" in given else "row"))
        return given


class Fit(Specimen):
    def __init__(self, estimator, options):
        super().__init__(options)
        self.estimator = estimator

    def table(self):
        """Rows and targets that have something to learn in them, and whose each row is."""
        inner = getattr(self.estimator, "estimator", self.estimator)
        X, y = ordinary(inner, ROWS)
        signal = 0.6 * X[:, 0] - 0.3 * X[:, 1]
        y = signal + 0.1 * y if y.dtype.kind == "f" else np.where(signal + 0.1 * X[:, 2] > 0, "a", "b")
        return X, y, people()

    def __call__(self, rows=None):
        model, (X, y, person) = clone(self.estimator), self.table()
        known, given = model.get_params(), self.given(person if rows is None else None)
        if "bounds" in given and model.bounds.classes:
            given["classes"] = model.bounds.classes
        if "classes" in given and given["classes"] is None:
            given["bounds"] = dc.Bounds(model.bounds.lower, model.bounds.upper)
        given |= {name: value for name, value in QUICK.items() if name in known}
        model.set_params(**given, random_state=SEED)
        model.fit(pl.DataFrame(X, schema=COLUMNS), y) if rows is None else model.fit(rows)
        return left(model.release_, learnt(model))


class Question(Specimen):
    def __init__(self, name, options):
        super().__init__({"delta": 1e-6} | options)
        self.name = name

    def table(self):
        """One column, no target, and whose each row is."""
        return np.random.default_rng(3).uniform(-1, 1, (ROWS, 1)), None, people()

    def __call__(self, rows=None):
        X, _, person = self.table()
        given = self.given(person if rows is None else None)
        if "delta" not in inspect.signature(getattr(stats, self.name)).parameters and given["delta"]:
            del given["delta"]
        statistic = checks.private_statistics()[self.name]
        column = pl.DataFrame(X, schema=COLUMNS[:1])
        release = statistic(column if rows is None else rows, epsilon=1.0, random_state=SEED, **given)
        return left(release, {})


def people():
    return np.array([f"p{i % 90}" for i in range(ROWS)], dtype=object)


def left(release, learnt):
    """A digest of all numbers that left, what was charged for them, and what was learnt: the root mean squares."""
    return {
        "values": digest(numbers_of(release)),
        "events": [f"{event} × {times}" for event, times in dc.events.flatten(release.event)],
        "charge": str(release.budget),
        "learnt": learnt,
    }


def learnt(model):
    """How large each fitted attribute is: what SOLVE makes of the same numbers may differ in the last bits."""
    found = {}
    for name, value in sorted(vars(model).items()):
        if not name.endswith("_") or isinstance(value, dc.Release):
            continue
        if hasattr(value, "release_"):
            found |= {f"{name}.{inner}": size for inner, size in learnt(value).items()}
        elif isinstance(value, (np.ndarray, np.generic, int, float)):
            array = np.asarray(value)
            if array.dtype.kind in "fiu":
                found[name] = float(np.sqrt(np.mean(array.astype(float) ** 2))) if array.size else 0.0
    return found


def numbers_of(release):
    mine = [left_by(one) for one in (release.value, release.std, release.interval)]
    return [mine, [numbers_of(part) for part in release.parts]]


def digest(value):
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def outcome(specimen, rows=None):
    """What a specimen leaves, or the error that refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return specimen(rows)
        except (ValueError, TypeError, dc.NotSupported) as error:
            return {"refused": type(error).__name__}


def arithmetic():
    """A digest of what linear algebra and functions make of fixed numbers: another where their last bits differ."""
    x = np.random.default_rng(1).normal(size=(60, 60))
    parts = [np.linalg.eigh(x @ x.T)[0], np.linalg.solve(x, x[0]), x @ x, np.exp(x), np.log(np.abs(x)), np.tanh(x)]
    return digest([part.tobytes() for part in parts])


def in_parquet(specimen, path):
    """The specimen's table in a file of several row groups, opened as a stream; None where it is not for files."""
    if set(specimen.options) - {"unit", "max_rows_per_unit", "delta"}:
        return None
    X, y, person = specimen.table()
    target = "y" if y is not None and specimen.estimator.supervised else None
    unit = "person" if "unit" in specimen.options else None
    more = {name: values.tolist() for name, values in ((target, y), (unit, person)) if name}
    frame = pl.DataFrame(X, schema=COLUMNS[: X.shape[1]]).with_columns(**{k: pl.Series(v) for k, v in more.items()})
    frame.write_parquet(path, row_group_size=150)
    return dc.scan_parquet(path, target=target, unit=unit)
