"""Names that one can search for: lists of exceptions only get shorter."""

import ast
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

import discreet

ROOT = Path(discreet.__file__).parent
LATER = ("pseudonyms", "cli")  # rooms that are still to be put in order

IRREGULAR = re.compile(
    "begun|bent|bound|bought|broken|brought|built|caught|chosen|dealt|done|drawn|driven|fallen|felt|forgotten|found|"
    "frozen|given|gone|grown|heard|held|hidden|kept|known|laid|learnt|led|left|lent|lost|made|meant|met|paid|proven|"
    "said|seen|sent|shaken|shown|shut|sold|spent|spoken|sworn|taken|taught|thought|told|torn|understood|won|worn|written"
)
REGULAR = re.compile(r"\w+(ed|ing)")
NO_PARTICIPLES = re.compile(
    "bed|bleed|breed|embed|exceed|feed|hundred|king|need|proceed|red|ring|seed|shed|speed|succeed|thing"
)
NOUNS = re.compile("ceiling|encoding|padding|rounding|setting|string|timing")
CONTRACT = re.compile("fitted|missing|seeded")  # of other libraries, and of formats: what they are called is not ours

EXCEPTIONS = json.loads(Path(__file__).with_name("names.json").read_text(encoding="utf-8"))  # they only get fewer


def is_participle(name):
    word = name.strip("_")
    if any(pattern.fullmatch(word) for pattern in (NO_PARTICIPLES, NOUNS, CONTRACT)):
        return False
    return "_" not in word and any(pattern.fullmatch(word) for pattern in (IRREGULAR, REGULAR))


def trees():
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        if place.parts[0] not in LATER:
            yield place, ast.parse(path.read_text(encoding="utf-8"))


def functions(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
            yield node


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("told", True),
        ("_kept", True),
        ("rounded", True),
        ("count_cells", False),
        ("seed", False),
        ("shared_rows", False),
    ],
)
def test_participles_are_recognised(name, is_one):
    assert is_participle(name) == is_one


def test_functions_are_not_called_by_a_bare_participle():
    found = [f"{place}: {node.name}" for place, tree in trees() for node in functions(tree) if is_participle(node.name)]
    refuse_new("participles", found)


def test_public_names_have_one_meaning():
    homes = defaultdict(set)
    for place, tree in trees():
        if place.parts[0] != "studies":  # each study is a program by itself
            for node in tree.body:
                if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                    homes[node.name].add(str(place))
    refuse_new("two meanings", [name for name, found in homes.items() if len(found) > 1])


def refuse_new(kind, found):
    """Raise if there is more than the exceptions, or an exception that is no longer needed."""
    new, gone = set(found) - set(EXCEPTIONS[kind]), set(EXCEPTIONS[kind]) - set(found)
    assert not new, "\n".join(sorted(new))
    assert not gone, f"No longer needed in names.json: {sorted(gone)}"


ASKS = ("measure", "measure_together", "choose", "run")


def asks_rows(node):
    """Whether a function asks rows: by a method of a curator that spends a share."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ASKS:
            owner = ast.unparse(call.func.value)
            if owner.split(".")[-1] in ("curator", "_curator", "lot_curator"):
                yield call.lineno


def test_what_asks_rows_stands_under_a_comment():
    """PRIVATISE, in the function that calls the curator, above the call."""
    bare = []
    for place, tree in trees():
        if place.parts[0] not in ("stats", "models", "publish"):
            continue
        lines = (ROOT / place).read_text(encoding="utf-8").split("\n")
        for node in functions(tree):
            for line in asks_rows(node):
                above = lines[node.lineno - 1 : line]
                if not any("PRIVATISE" in text and "#" in text for text in above):
                    bare.append(f"{place}: {node.name}")
    refuse_new("without PRIVATISE", bare)
