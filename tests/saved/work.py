"""What is saved per release, and asked again of what was saved: models, an account with retried runs, a vault."""

import numpy as np
import polars as pl

import discreet as dc
from discreet import models, stats
from discreet.checks import private_estimators
from discreet.checks.specimens import ordinary
from discreet.engines.memory import Memory
from discreet.errors import ReadError
from discreet.models.shared.encoder import Encoder
from discreet.pseudonyms import KeyFile, Vault
from discreet.query import Batch

ACCOUNT = dc.Budget(9.0, 1e-5)
VERSION = "2026-01-01"
FIELDS, IDENTITIES = {"ssn": "digits", "name": "text"}, {"ssn": ["ssn"]}


def rows():
    return ordinary(private_estimators()["LinearRegression"], 200)


def public():
    return dc.Bounds([-1] * 3, [1] * 3, target=(-1, 1))


def fitted():
    """One model of each class, with the rows to predict for."""
    found = {}
    for name, estimator in private_estimators().items():
        if "draws" in estimator.get_params():
            estimator.set_params(draws=20, chains=1)
        found[name] = estimator.set_params(random_state=1).fit(*ordinary(estimator, 200))
    inner = models.Ridge(bounds=public())
    grid = {"alpha": [0.1, 1.0]}
    found["PrivateSearchCV"] = models.PrivateSearchCV(inner, grid, epsilon=2.0, delta=1e-6, random_state=1)
    found["PrivateSearchCV"].fit(*rows())
    return found


def predictions(model):
    """What a model says of a few rows."""
    return model.predict(np.linspace(-0.9, 0.9, 12).reshape(4, 3)).tolist()


def encoded():
    """A model of a table with categories, and its encoder."""
    encoder = Encoder(("age", "ward"), (None, ("n", "s", "w")))
    table = np.array([[20, "n"], [40, "s"], [60, "w"]] * 50, dtype=object)
    X, y = encoder(Batch(table)), np.array(["a", "b", "a"] * 50)
    bounds = encoder.make_bounds({"age": (0, 100)}, classes=("a", "b"))
    return models.LogisticRegression(1.0, 1e-6, bounds=bounds, random_state=1).fit(X, y), encoder


class Broken(Memory):
    """Rows in memory that cannot be read."""

    def sum(self, query):
        raise OSError("gone")


def ask(ledger):
    """Two answers of an account, stored there; a second run returns them."""
    retrying = ledger.retrying(VERSION)
    model = models.LinearRegression(1.0, 1e-6, bounds=public(), ledger=retrying).fit(*rows())
    classifier = models.LogisticRegression(1.0, 1e-6, bounds=dc.Bounds(-1, 1), classes=("a", "b"), ledger=retrying)
    X, y = ordinary(private_estimators()["LogisticRegression"], 200)
    classifier.fit(X, y)
    mean = stats.mean(rows()[0][:, 0], epsilon=0.5, bounds=(-1, 1), ledger=retrying)
    return [model.coef_.tolist(), classifier.coef_.tolist(), float(mean)]


def fail(ledger, kind=Broken):
    """A run that is charged, and of which nothing is shown: it may be run again for what it paid."""
    try:
        model = models.Ridge(1.0, 1e-6, bounds=public(), ledger=ledger.retrying(VERSION))
        return model.fit(kind(*rows()))
    except ReadError:
        return None


def vault(folder):
    """A vault that knows three people of one table, the file of its key, and a person's pseudonym."""
    key = KeyFile.create(folder / "key")
    with Vault.create(folder / "people.vault", fields=FIELDS, identities=IDENTITIES, key_file=key) as opened:
        opened.add_purpose("research", basis="Article 9(2)(j)", retention=30)
        found = opened.pseudonymise(visits(), ["ssn", "name"], "research", name="visits")
    return found["pseudonym"][0]


def visits():
    return pl.DataFrame({"ssn": ["1", "2", "3"], "name": ["ann", "bea", "cem"], "ill": ["no", "yes", "no"]})
