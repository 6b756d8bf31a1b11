"""What must not change unless it is meant to: seeded results, events, charges, public names, signatures, help pages.

`python tests/net/record.py` writes the record anew.
"""

import json
from pathlib import Path

import pytest

from .specimens import arithmetic, in_parquet, outcome, specimens
from .surface import help_pages, names, signatures

HERE = Path(__file__).parent
RESULTS = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
SURFACE = json.loads((HERE / "surface.json").read_text(encoding="utf-8"))
SPECIMENS = specimens()
CHANGED = "{} has changed; if it was meant to: python tests/net/record.py results"


@pytest.fixture(scope="module")
def same_arithmetic():
    """Numbers are compared bit for bit where arithmetic is the same; events and charges everywhere."""
    return arithmetic() == RESULTS["arithmetic"]


def compare(name, found, engine, same_arithmetic):
    wanted = RESULTS[engine][name]
    wanted = dict(RESULTS["memory"][name] if wanted == "as in memory" else wanted)
    found = dict(found)
    learnt, before = found.pop("learnt", {}), wanted.pop("learnt", {})
    if not same_arithmetic:
        found["values"] = wanted["values"] = "other arithmetic"
    elif "values" in found:
        assert learnt == pytest.approx(before, rel=1e-6, abs=1e-9, nan_ok=True), CHANGED.format(name)
    assert found == wanted, CHANGED.format(name)


def test_the_record_is_of_these_specimens():
    assert set(RESULTS["memory"]) == set(SPECIMENS)


@pytest.mark.parametrize("name", SPECIMENS)
def test_in_memory(name, same_arithmetic):
    compare(name, outcome(SPECIMENS[name]), "memory", same_arithmetic)


@pytest.mark.parametrize("name", RESULTS["parquet"])
def test_from_parquet(name, same_arithmetic, tmp_path):
    rows = in_parquet(SPECIMENS[name], tmp_path / "rows.parquet")
    compare(name, outcome(SPECIMENS[name], rows), "parquet", same_arithmetic)


def test_public_names():
    assert names() == SURFACE["names"]


def test_signatures():
    assert signatures() == SURFACE["signatures"]


@pytest.mark.xdist_group("help")  # one process renders all pages
def test_help_pages():
    found = help_pages()
    assert set(found) == set(SURFACE["help"])
    for verb, page in found.items():
        assert page == SURFACE["help"][verb], f"discreet {verb} --help has changed"
