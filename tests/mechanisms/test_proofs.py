"""Proofs are about the code as it is."""

from __future__ import annotations

import pytest

from discreet.mechanisms import proofs

PROOFS = sorted(path.stem for path in proofs.HERE.glob("*.md"))


@pytest.mark.parametrize("name", PROOFS)
def test_the_code_is_what_was_proved(name):
    changed = proofs.stale(proofs.HERE / f"{name}.md")
    assert not changed, f"{changed} changed: read {name}.md again, then run python -m discreet.mechanisms.proofs"


@pytest.mark.parametrize("name", [name for name in PROOFS if name != "accounting"])  # it proves many small things
def test_a_proof_has_its_parts(name):
    text = (proofs.HERE / f"{name}.md").read_text(encoding="utf-8")
    assert proofs.proved(proofs.HERE / f"{name}.md")
    assert all(part in text for part in ("**Precondition.**", "**Postcondition.**", "Reference"))


def test_a_change_is_noticed_and_stamped(tmp_path):
    proof = tmp_path / "p.md"
    proof.write_text("proves: laplace.add_laplace@0, tables.Table.settle\n\nrest\n")
    assert proofs.stale(proof) == ["laplace.add_laplace", "tables.Table.settle"] == proofs.restamp(proof)
    assert proofs.stale(proof) == [] and proof.read_text().endswith("\n\nrest\n")
    with pytest.raises(ValueError, match="called"):
        proofs.stamp("nowhere.nothing")
