"""Conditions: public predicates on a row's own columns, parsed from text and never run as code.

    sex == 'F' and age >= 60
    ward in ('north', 'south') and not (age is missing)
    `blood pressure` < 140 or visits != 0

A condition is a function of one row. A row for which it does not hold counts for nothing, so nothing that the data say
decides what is asked; how many rows it holds for is private.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.labels import codes_of

Mask = NDArray[np.bool_]
Columns = Mapping[str, NDArray[Any]]

_QUOTED = re.compile(r"`([^`]+)`")
_IS_MISSING = re.compile(r"\bis\s+(not\s+)?missing\b")
_MISSING = "__missing__"
LONGEST = 10_000  # characters of a condition

_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}
_IN_TEXT: dict[type[ast.cmpop], Callable[[str, str], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_OPERATORS = (*_ORDER, ast.Eq, ast.NotEq, ast.In, ast.NotIn)


@dataclass(frozen=True)
class Condition:
    """A condition on some columns.

    Attributes
    ----------
    text : as it was written.
    columns : the columns that it reads, in order of their first mention.

    | a cell that | what holds |
    | --- | --- |
    | is missing (None, NaN) | no comparison with it; `is missing` does |
    | is no number, where a number is asked for | no comparison of order |

    Examples
    --------
    >>> condition = Condition.parse("sex == 'F' and age >= 60")
    >>> condition.columns
    ('sex', 'age')
    >>> condition({"sex": np.array(["F", "F", "M"], object), "age": np.array([70.0, 20.0, 70.0])}).tolist()
    [True, False, False]
    """

    text: str
    columns: tuple[str, ...]
    _tree: ast.expr
    _names: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Condition:
        """The condition that a text states; `ValueError` names what cannot be in one."""
        if not isinstance(text, str) or not text.strip():
            raise ValueError("A condition is a text, such as \"sex == 'F' and age >= 60\".")
        if len(text) > LONGEST:
            raise ValueError(f"A condition has at most {LONGEST:,} characters.")
        names: list[str] = []

        def keep_name(found: re.Match[str]) -> str:
            names.append(found[1])
            return f" __column_{len(names) - 1}__ "

        plain = _IS_MISSING.sub(lambda found: f"{'!=' if found[1] else '=='} {_MISSING}", _QUOTED.sub(keep_name, text))
        try:
            tree = ast.parse(plain.strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            _refuse(text, "it cannot be read")
        found: list[str] = []
        _check(tree, text, tuple(names), found)
        return cls(text, tuple(dict.fromkeys(found)), tree, tuple(names))

    def __call__(self, cells: Columns) -> Mask:
        """For which rows it holds: each decided by the row alone."""
        return _evaluate(self._tree, cells, self._names)


def _refuse(text: str, why: str) -> NoReturn:
    raise ValueError(
        f"The condition {text!r} is not understood: {why}. Hint: comparisons of a column with numbers or quoted text "
        "(== != < <= > >=, in (...), is missing), joined by and, or, not; a name with spaces between backticks."
    )


# What may be in a condition ---------------------------------------------------------------------------


def _check(node: ast.expr, text: str, names: tuple[str, ...], found: list[str]) -> None:
    """Raise for anything but comparisons, joined; collect the columns."""
    if isinstance(node, ast.BoolOp):
        for part in node.values:
            _check(part, text, names, found)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        _check(node.operand, text, names, found)
    elif isinstance(node, ast.Compare):
        for left, compare, right in _pairs(node):
            _check_comparison(left, compare, right, text, names, found)
    else:
        _refuse(text, "a part of it is no comparison")


def _check_comparison(
    left: ast.expr, compare: ast.cmpop, right: ast.expr, text: str, names: tuple[str, ...], found: list[str]
) -> None:
    columns = [_column(side, names) for side in (left, right)]
    found += [name for name in columns if name is not None]
    if sum(name is not None for name in columns) != 1:
        _refuse(text, "each comparison is of one column with a value")
    other = right if columns[0] is not None else left
    if isinstance(compare, ast.In | ast.NotIn):
        if columns[0] is None or not isinstance(other, ast.Tuple | ast.List | ast.Set) or not other.elts:
            _refuse(text, "after `in` stands a list of values, in parentheses")
        values = [_value(one) for one in other.elts]
    else:
        values = [_value(other)]
    if any(value is _NONE for value in values) or not isinstance(compare, _OPERATORS):
        _refuse(text, "a value is a number, a quoted text, True or False")
    if None in values and not isinstance(compare, ast.Eq | ast.NotEq):
        _refuse(text, "what is missing has no order")
    if isinstance(compare, tuple(_ORDER)) and any(isinstance(value, bool) for value in values):
        _refuse(text, "True and False have no order")


def _pairs(node: ast.Compare) -> list[tuple[ast.expr, ast.cmpop, ast.expr]]:
    """`0 <= x < 5` as its two comparisons."""
    sides = [node.left, *node.comparators]
    return list(zip(sides[:-1], node.ops, sides[1:], strict=True))


def _column(node: ast.expr, names: tuple[str, ...]) -> str | None:
    """The column that a node names, if it does."""
    if not isinstance(node, ast.Name) or node.id == _MISSING:
        return None
    quoted = re.fullmatch(r"__column_(\d+)__", node.id)
    return names[int(quoted[1])] if quoted else node.id


_NONE = object()


def _value(node: ast.expr) -> Any:
    """The value that a node states; None for `missing`; `_NONE` if it states none."""
    if isinstance(node, ast.Name) and node.id == _MISSING:
        return None
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
        return -node.value if sign < 0 and not isinstance(node.value, bool | str) else node.value if sign > 0 else _NONE
    return _NONE


# What holds for rows -----------------------------------------------------------------------------------


def _evaluate(node: ast.expr, cells: Columns, names: tuple[str, ...]) -> Mask:
    if isinstance(node, ast.BoolOp):
        parts = [_evaluate(part, cells, names) for part in node.values]
        return np.asarray(
            np.logical_and.reduce(parts) if isinstance(node.op, ast.And) else np.logical_or.reduce(parts), bool
        )
    if isinstance(node, ast.UnaryOp):
        return ~_evaluate(node.operand, cells, names)
    assert isinstance(node, ast.Compare)
    return np.asarray(np.logical_and.reduce([_compare(*pair, cells, names) for pair in _pairs(node)]), bool)


_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def _compare(left: ast.expr, compare: ast.cmpop, right: ast.expr, cells: Columns, names: tuple[str, ...]) -> Mask:
    kind = type(compare)
    if _column(left, names) is None:  # a value before the column
        left, right, kind = right, left, _MIRRORED.get(kind, kind)
    column = cells[str(_column(left, names))]
    there = ~find_missing(column)
    if kind in (ast.In, ast.NotIn):
        assert isinstance(right, ast.Tuple | ast.List | ast.Set)
        return np.asarray(there & (_is_among(column, [_value(one) for one in right.elts]) == (kind is ast.In)), bool)
    value = _value(right)
    if value is None:
        return ~there if kind is ast.Eq else there
    if kind in (ast.Eq, ast.NotEq):
        return np.asarray(there & (_is_among(column, [value]) == (kind is ast.Eq)), bool)
    return there & _in_order(column, kind, value)


def _is_among(column: NDArray[Any], values: list[Any]) -> Mask:
    """Whether cells are one of some values; dates are compared as text, 2024-01-31."""
    known = list(dict.fromkeys(values))
    found = codes_of(column, known) >= 0
    if column.dtype.kind in "MO" and any(isinstance(value, str) for value in known):
        found |= codes_of(write_dates(column), known) >= 0
    return found


def _in_order(column: NDArray[Any], kind: type[ast.cmpop], value: Any) -> Mask:
    if isinstance(value, str):
        text = write_dates(column)
        return np.asarray(
            np.frompyfunc(lambda cell: isinstance(cell, str) and _IN_TEXT[kind](cell, value), 1, 1)(text), bool
        )
    with np.errstate(invalid="ignore"):
        return np.asarray(_ORDER[kind](as_numbers(column), value), bool)


def find_missing(cells: NDArray[Any]) -> Mask:
    """Which cells are missing: None, NaN, NaT.

    >>> find_missing(np.array([None, float("nan"), "", 0], object)).tolist()
    [True, True, False, False]
    """
    if cells.dtype.kind == "f":
        return np.asarray(np.isnan(cells), bool)
    if cells.dtype.kind in "mM":
        return np.asarray(np.isnat(cells), bool)
    if cells.dtype.kind != "O":
        return np.zeros(len(cells), bool)
    return np.asarray(_MISSING_CELL(cells), bool)


def as_numbers(cells: NDArray[Any]) -> NDArray[np.float64]:
    """Cells as floats; NaN for what is no number."""
    if cells.dtype.kind in "fiub":
        return cells.astype(np.float64)
    return np.asarray(_NUMBER(cells), np.float64)


def write_dates(cells: NDArray[Any]) -> NDArray[Any]:
    """Dates as text, 2024-01-31, which has their order; other cells as they are.

    >>> write_dates(np.array([date(2024, 1, 31), "x"], object)).tolist()
    ['2024-01-31', 'x']
    """
    if cells.dtype.kind == "M":
        text = cells.astype(str).astype(object)
        text[np.isnat(cells)] = None
        return text
    return np.asarray(_DATE(cells), object)


def _number(cell: Any) -> float:
    try:
        return float(cell) if isinstance(cell, int | float | np.number | bool) else np.nan
    except Exception:  # whatever a strange cell does: it is no number, and tells nothing of itself
        return np.nan


def _missing(cell: Any) -> bool:
    try:
        known = cell is None or type(cell).__name__ in ("NAType", "NaTType")
        return known or (isinstance(cell, float | np.floating) and bool(np.isnan(float(cell))))
    except Exception:
        return True


def _date(cell: Any) -> Any:
    try:
        return (
            (cell.isoformat(" ") if isinstance(cell, datetime) else cell.isoformat())
            if isinstance(cell, date)
            else cell
        )
    except Exception:
        return None


_NUMBER, _MISSING_CELL, _DATE = (np.frompyfunc(one, 1, 1) for one in (_number, _missing, _date))
