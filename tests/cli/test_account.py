"""`discreet ledger` on an account: what each charge costs by itself, and what no promise covers."""

import json

import pytest

from discreet import Budget, Ledger
from discreet.events import Composed, Gaussian, Laplace


@pytest.fixture
def book(table):
    return Ledger.open(table.folder / "own.ledger", Budget(30.0, 1e-6), data="visits")


def test_a_pure_answer_costs_its_own_epsilon_by_itself(table, book):
    book.charge("describe", Laplace(1.0))
    told = json.loads(table("ledger", "show", "own.ledger", "--json").stdout)
    assert told["entries"][0]["epsilon"] == told["spent"] == pytest.approx(1.0, abs=1e-5)
    assert "adds up in" not in table("ledger", "show", "own.ledger").output
    book.charge("describe", Laplace(1.0))
    told = json.loads(table("ledger", "show", "own.ledger", "--json").stdout)
    assert [entry["epsilon"] for entry in told["entries"]] == pytest.approx([1.0, 1.0], abs=1e-5) and told["spent"] > 2
    assert "this account adds up in 'gdp'" in " ".join(table("ledger", "show", "own.ledger").output.split())


def test_what_no_promise_covers_is_said_by_every_verb(table, book):
    book.charge("mean", Gaussian(4.0))
    book.charge("model", Gaussian(4.0), seeded=True)
    book.charge("frontier", Composed(()))
    shown = " ".join(table("ledger", "show", "own.ledger", "-o", "l.png").output.split())
    assert "NO PROMISE covers what these entries told: 2 (seeded), 3 (unpaid)." in shown
    assert "NO PROMISE" in table("ledger", "explain", "own.ledger").output
    told = json.loads(table("ledger", "show", "own.ledger", "--json").stdout)
    assert [entry["not_private"] for entry in told["entries"]] == [None, "seeded", "unpaid"]
    assert table("ledger", "export", "own.ledger", "-o", "l.csv").exit_code == 0
    rows = (table.folder / "l.csv").read_text().splitlines()
    assert rows[0] == "number,time,name,epsilon,not_private,event" and ",unpaid," in rows[3]
