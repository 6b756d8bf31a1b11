"""What notebooks show: tables in place of long lines, nothing of rows, and no warning from scikit-learn."""

import warnings

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import models
from discreet.audit import Audit
from discreet.stats import count, mean
from discreet.stats.description import describe

SECRET = 77123.25


def shown(value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return value._repr_html_()


def test_nouns_are_tables():
    budget, bounds = dc.Budget(1.0, 1e-6), dc.Bounds({"<age>": (0, 110)}, target=(0, 5), classes=["a & b", "c"])
    assert "<table>" in shown(budget) and "multiplies the odds" in shown(budget)
    assert "&lt;age&gt;" in shown(bounds) and "110" in shown(bounds) and "a &amp; b" in shown(bounds)


def test_releases_and_ledgers_are_tables():
    ledger = dc.Ledger(dc.Budget(2.0, 1e-6), data="visits")
    release = mean(np.full(100, SECRET), (0, 100_000), epsilon=0.5, ledger=ledger)
    page = shown(release)
    assert "95% interval" in page and "ε = 0.5" in page and "NOT PRIVATE" not in page
    assert "visits" in shown(ledger) and "mean" in shown(ledger) and "Spent ε = 0.5" in shown(ledger)
    with pytest.warns(dc.NotPrivateWarning):
        assert "NOT PRIVATE" in shown(count(np.ones(9), random_state=0))


def test_a_description_is_tables():
    table = pl.DataFrame({"age": np.linspace(0, 100, 500), "ward": ["north", "south"] * 250})
    page = shown(describe(table, {"age": (0, 100)}, {"ward": ["north", "south"]}, epsilon=50.0))
    assert (page.count("<table>") == 3 and "median" in page and "north" in page and "▇" in page) or "█" in page


def test_an_audit_says_which_way_it_went():
    fine, broken = Audit(0.2, 0.1, 1.0, 1.0, 100, 0.99, 0.0), Audit(3.0, 0.1, 1.0, 1.0, 100, 0.99, 0.0)
    assert "Not broken" in shown(fine) and "BROKEN" in shown(broken)


@pytest.mark.parametrize("name", sorted(models.__all__))
def test_estimators_are_shown_without_a_warning(name):
    cls = getattr(models, name)
    if not (isinstance(cls, type) and hasattr(cls, "_repr_html_")) or getattr(cls, "__abstractmethods__", None):
        pytest.skip("no estimator")
    try:
        estimator = cls()
    except TypeError:
        pytest.skip("needs arguments")
    assert "epsilon" in shown(estimator)


def test_the_text_of_an_estimator_shows_its_budget():
    assert "epsilon=1.0" in repr(models.LinearRegression()) and "epsilon=0.3" in repr(models.Ridge(0.3))
