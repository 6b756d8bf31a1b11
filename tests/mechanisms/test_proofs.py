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


def test_layout_comments_and_docstrings_are_no_change():
    one = 'def f(x, *, y=(1, 2)):\n    """What."""\n    # why\n    return x + y[0]'
    assert proofs.hash_code(one) == proofs.hash_code("def f(\n  x, *, y=(1,\n 2)): return (x + y[0])")
    for other in ("def f(x, *, y=(1, 2)): return x + y[1]", "def f(x, *, y=(1, 2)): return x - y[0]"):
        assert proofs.hash_code(one) != proofs.hash_code(other)


def test_only_what_is_the_same_up_to_names_is_stamped(tmp_path, monkeypatch):
    proof, now = tmp_path / "p.md", {"new.add": "def add(total, scale): return total + draw(scale)"}
    before = proofs.hash_code("def plus(x, scale): return x + draw(scale)")
    monkeypatch.setattr(proofs, "stamp", lambda name, former=None: proofs.hash_code(now[name], former))
    proof.write_text(f"proves: old.plus@{before}\n\nrest\n")
    names, moves = {"plus": "add", "x": "total"}, {"old": "new"}
    assert proofs.follow(proof, names, moves) == (["new.add"], [])
    assert proofs.proved(proof) == {"new.add": proofs.hash_code(now["new.add"])}
    # a change besides: nothing is stamped
    now["new.add"] = "def add(total, scale): return total + draw(2 * scale)"
    assert proofs.follow(proof, names, moves) == ([], ["new.add"]) and proofs.stale(proof) == ["new.add"]
    # names that become one: no renaming
    now["new.add"] = "def add(total, scale): return total + scale"
    with pytest.raises(ValueError, match="one to one"):
        proofs.hash_code(now["new.add"], {"total": "scale"})
