"""Write the reports that every client gives for the same bits: `python tests/local/vectors.py`.

10,000 reports of surveys of all kinds, values that no question knows among them. A change that is meant to change
nothing reproduces the file.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from itertools import count
from pathlib import Path

HERE = Path(__file__).parent
PATH = HERE / "vectors.json"
REPORTS = 10_000
_MASK = (1 << 64) - 1


def words(seed):
    """The words of splitmix64: bits that every language makes alike."""
    for i in count(1):
        z = (seed + i * 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & _MASK
        yield z ^ z >> 31


def bits(seed):
    """The bits of a report."""
    from discreet.local.randomise import Bits

    stream = words(seed)
    return Bits(lambda size: b"".join(next(stream).to_bytes(8, "big") for _ in range(size // 8)))


def surveys():
    """Surveys of all kinds, and values to answer them with."""
    from discreet.local import Survey
    from discreet.local.heavy import HeavyHitters
    from discreet.local.methods import make_row_design
    from discreet.local.rows import ProductsQuestion

    names, ways = ["a", "ü", 3, True, "\u2028"], [*range(40), "none of them"]
    yield Survey.choice("smokes", [False, True], "1.5"), [False, True, 0, 1, "yes"]
    yield Survey.choice("coins", [False, True], "0.5", method="coins"), [False, True, None]
    yield Survey.choice("names", names, "1e-05", other=3), [*names, 1, "b", None, 2.5]
    for method in ("direct", "subset", "projective", "hash", "oue", "sue", "hadamard"):
        for epsilon in ("0.7", "3"):
            size = 12 if method in ("oue", "sue", "subset") else 40
            yield Survey.choice(f"{method} {epsilon}", range(size), epsilon, method=method), ways[: size + 1]
    numbers = [0, 10, -3, 5.5, 9.999, 1e300, -0.1, 1 / 3, 2**40, None, "5", 1e-320]
    for method in ("bit", "table", "piecewise", "hybrid", "laplace"):
        yield Survey.number(method, "-0.5", 10, 1 if method == "table" else "2.5", method=method), numbers
    vectors = [[0, 0, 0, 0], [1, -1, 0.25, 9], [0.1, 0.2, 0.3, None], [1, 2], None, [-1, -1, -1, -1]]
    for method in ("cap", "sparse", "vertices"):
        yield Survey.vector(method, 4, 3, low=-1, method=method), vectors
    for method in ("privunitg", "hemisphere"):
        yield Survey.vector(method, 4, 1, method=method), vectors
    yield Survey.below("below", "2.5", 1), numbers
    yield Survey.distribution("window", 0, 10, 1, levels=64), numbers
    yield Survey.distribution("tree", 0, 10, 2, method="hierarchy", levels=64), numbers
    rows = [[[1, 20], "yes"], [[0.3, 11.5], "no"], [[2.5, None], "?"], [[1], "no"], None, [[1.1, 29.25], "yes"]]
    row = ProductsQuestion((0, 10), (2, 30), ("no", "yes"), 1)
    yield Survey("products", row, 2, make_row_design(row, Fraction(2))), rows
    search = HeavyHitters("prefix", "aü", 4, 1, top=2)
    yield search.survey, ["aaaa", "aüa", "ü", "", None, 3, "aa"]
    mixed = {"a": ["x", "y", "z"], "b": (0, 10), "c": [True, False]}
    yield Survey.several("several", mixed, "0.9"), [{"a": "x", "b": 3, "c": True}, {"a": "?"}, {}, None, {"b": 9.5}]
    numbers = [0, 10, -3, 5.5, 9.999, 1e300, -0.1, 1 / 3, 2**40, None, "5", 1e-320]
    for method in ("bit", "table", "piecewise", "hybrid", "laplace"):
        yield Survey.number(method, "-0.5", 10, 1 if method == "table" else "2.5", method=method), numbers
    vectors = [[0, 0, 0, 0], [1, -1, 0.25, 9], [0.1, 0.2, 0.3, None], [1, 2], None, [-1, -1, -1, -1]]
    for method in ("cap", "sparse", "vertices"):
        yield Survey.vector(method, 4, 3, low=-1, method=method), vectors
    for method in ("privunitg", "hemisphere"):
        yield Survey.vector(method, 4, 1, method=method), vectors


def answer(survey, value, seed):
    """The numbers of a report."""
    fair = bits(seed)
    return list(survey.design.answer(survey.question.encode_answer(value, fair), fair))


def vectors():
    """Each survey with its digest, its values and its reports."""
    pairs = list(surveys())
    each = -(-REPORTS // len(pairs))
    return [
        {
            "survey": survey.to_json(),
            "digest": survey.digest,
            "values": values,
            "seed": 1_000_000 * i,
            "reports": [answer(survey, values[j % len(values)], 1_000_000 * i + j) for j in range(each)],
        }
        for i, (survey, values) in enumerate(pairs)
    ]


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[1] / "src"))
    lines = ",\n".join(json.dumps(one, ensure_ascii=True, separators=(",", ":")) for one in vectors())
    PATH.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
