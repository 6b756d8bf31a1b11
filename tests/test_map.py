"""The map in the docs is the code as it is."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np

from discreet import Bounds
from discreet.models import LinearRegression

DOCS = Path(__file__).parents[1] / "docs"


def generator():
    spec = importlib.util.spec_from_file_location("map_of_the_code", DOCS / "map.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tree_is_that_of_the_package():
    page = (DOCS / "map.md").read_text(encoding="utf-8")
    assert generator().replace_tree(page) == page, "Write it anew: python docs/map.py"


def functions_entered(run):
    """The functions of discreet that a run enters, in the order of their first calls."""
    seen = {}

    def watch(frame, event, _):
        if event == "call" and "/discreet/" in frame.f_code.co_filename:
            module = frame.f_globals["__name__"].partition(".")[2]
            seen.setdefault(f"{module}.{frame.f_code.co_qualname}", len(seen))

    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
    return seen


def test_the_way_of_a_row_is_the_one_that_a_fit_takes():
    page = (DOCS / "map.md").read_text(encoding="utf-8")
    way = re.findall(r"^\d+\. `([\w.]+)`", page.partition("<!-- way -->")[2].partition("<!-- end of way -->")[0], re.M)
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 1, (2000, 3)), rng.uniform(0, 1, 2000)
    seen = functions_entered(lambda: LinearRegression(bounds=Bounds(0, 1, target=(0, 1))).fit(X, y))
    assert len(way) >= 12 and set(way) <= set(seen), set(way) - set(seen)
    assert [seen[name] for name in way] == sorted(seen[name] for name in way)
