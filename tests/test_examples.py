"""Every example runs, says something, and writes what it says it writes."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from discreet.ledger.stores import uncovered

EXAMPLES = Path(__file__).parents[1] / "examples"
GALLERY = Path(__file__).parents[1] / "docs" / "gallery.md"
SLOW = {"demo", "own_model", "pictures", "pseudonyms"}  # many fits; an audit; a key that is slow on purpose
SAYS = {
    "attack": r"(BROKEN .*\n){3}(not broken .*\n){2}",
    "classify": r"AUC: 0\.[78]",
    "coarser": " 0 re-identified",
    "coefficients": "blood_pressure",
    "demo": r"Saved output/accuracy\.png",
    "describe": "Spent ε",
    "files": "with the same seed: True",
    "outlier": r"Saved output/outlier\.png",
    "own_model": r"Every check passed\.",
    "pictures": r"posterior\.svg",
    "pseudonyms": r"Erased \(entry",
    "sites": "3 private and 1 public",
    "visits": r"\(add-remove one patient\)",
}
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in NAMES])
def test_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *(["images"] if name == "pictures" else [])])  # else it draws for the site
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert re.search(SAYS.get(name, ""), said) and len(said) > 100
    promised = re.findall(r"output/\w+\.\w+", (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").split('"""')[1])
    assert all((tmp_path / path).stat().st_size > 1_000 for path in promised)
    assert {path.suffix for path in tmp_path.rglob("*.*")} <= {".png", ".html", ".svg"}  # nothing else is left behind


def test_the_gallery_has_them_all():
    page = GALLERY.read_text(encoding="utf-8")
    assert len(NAMES) >= 10
    assert [name for name in NAMES if f"examples/{name}.py" not in page] == []


def test_the_pictures_of_the_site_are_of_the_code_beside_them():
    """The same models, ε and charges; and a ledger of which a promise covers everything."""
    pictures = runpy.run_path(str(EXAMPLES / "pictures.py"))
    source = (EXAMPLES / "pictures.py").read_text(encoding="utf-8")
    frontier, plots = ((GALLERY.parent / name).read_text(encoding="utf-8") for name in ("frontier.md", "plots.md"))
    asked = re.search(r"epsilons=\[.*?\], repeats=\d+", source)[0]
    assert asked in frontier and all(f'"{name}": LinearRegression(' in frontier for name in pictures["METHODS"])
    assert frontier.count(": LinearRegression(") == len(pictures["METHODS"])
    charges = re.findall(r"^    (?:model = )?(\w+\(.*ledger=ledger\))", source, re.M)
    assert len(charges) == 4 and all(charge in plots for charge in charges[1:])
    ledger, model = pictures["charged"]()
    assert str(tuple(entry.name for entry in ledger.entries)) in plots and uncovered(ledger.entries) == ""
    assert f"LinearRegression({model.epsilon}, " in plots and source.count(f"LinearRegression({model.epsilon}, ") == 2
