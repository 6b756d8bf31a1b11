"""Answers of many people at once, from the keystream: for simulations, and for those who answer on behalf of many.

Reports have the same laws as on a device, and are drawn in vectors; `mechanisms/proofs/local.md` covers both. There is
one row per person. Only a `Device` keeps a person's budget.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local import bulk_numbers
from discreet.local.bulk_numbers import encode_numbers, encode_rows
from discreet.local.coins import answer_direct_many, choose_mask, draw_below, throw_coins
from discreet.local.design import Direct, Hadamard, Hashed, Projective, Subset, TwoCoins, Unary
from discreet.local.lasting import BitFlip, Loloha, Rappor
from discreet.local.odds import ONE
from discreet.local.questions import GRID, NumberQuestion
from discreet.local.randomise import Bits, count_points
from discreet.local.several import OneOf
from discreet.local.survey import Survey
from discreet.mechanisms.keystream import Keystream, default

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_CELLS = 1 << 22  # coins that are thrown at once


def answer_many(survey: Survey, values: Any, *, random_state: int | None = None) -> Any:
    """One report for each value, in the form that `Estimate.add_many` takes.

    Parameters
    ----------
    survey : the survey.
    values : one answer per person: an array, a list or a column; for several questions, a column for each, by name.
    random_state : a seed, for tests and studies; reports are then not private.

    Returns
    -------
    reports : an array with a row per person, of one number or several; for "oue" and "sue" a matrix of True and False;
        for several questions, a dictionary of arrays, by the number of the question.

    Notes
    -----
    The guarantee is `Pure(survey.epsilon)` for each person under replace-one, for one call. Nothing is charged and
    nothing is remembered: the costs of two calls add up. Devices of people use `Device`.

    Examples
    --------
    >>> survey = Survey.choice("browser", ["A", "B", "C"], epsilon=1)
    >>> answer_many(survey, ["A", "B", "A"]).shape
    (3,)
    """
    rng = default() if random_state is None else Keystream.seeded(random_state)
    # BOUND: each answer becomes a whole number; PRIVATISE: a report of it
    return make_reports(survey.design, encode_many(survey.question, values, rng), rng)


def make_reports(design: Any, values: Any, rng: Keystream) -> Any:
    """Reports of encoded values; for one of several questions, a dictionary by the number of the question."""
    if isinstance(design, OneOf):
        which = draw_below(rng, len(values[0]), design.size)
        return {i: make_reports(part, values[i][which == i], rng) for i, part in enumerate(design.parts)}
    return MAKERS[type(design)](design, values, rng)


def encode_many(question: Any, values: Any, rng: Keystream) -> Any:
    """The code of each answer, as `question.encode_answer` gives it."""
    if question.kind == "several":
        columns = [values[name] for name in question.names]
        return [encode_many(part, column, rng) for part, column in zip(question.parts, columns, strict=True)]
    if question.kind == "tree":
        place = np.minimum(encode_numbers(NumberQuestion(question.low, question.high), values) + GRID, 2 * GRID - 1)
        return [place * part.size // (2 * GRID) for part in question.parts]
    if question.kind == "text":
        return [question.encode_answer(value, _NoBits()) for value in np.asarray(values, object)]
    if question.kind == "prefix":
        length, known = len(question.prefixes[0]), {one: i for i, one in enumerate(question.prefixes)}
        begins = [one[:length] if isinstance(one, str) else None for one in values]
        return np.array([known.get(begin, question.size - 1) for begin in begins], np.int64)
    if question.kind == "below":
        return (np.asarray(values, np.float64) < float(Fraction(question.threshold))).astype(np.int64)
    if question.kind in ("products", "gradient"):
        return encode_rows(question, *values)
    if question.kind != "choice":
        return encode_numbers(question, values)
    plain = isinstance(values, np.ndarray) or len(set(map(type, values))) == 1
    column = np.asarray(values) if plain else np.empty(0, object)
    if column.dtype.kind in "iu" and question.values == tuple(range(question.size)):
        known = (column >= 0) & (column < question.size)
        if known.all():
            return column.astype(np.int64, copy=False)
    distinct, places = (
        np.unique(column, return_inverse=True) if column.dtype.kind in "biuU" else _number_objects(values)
    )
    codes = [_place_value(question, one) for one in distinct]
    found = np.array(codes, np.int64)[places.ravel()]
    lost = np.flatnonzero(found < 0)
    found[lost] = draw_below(rng, len(lost), question.size)
    return found


def _number_objects(values: Any) -> tuple[list[Any], Ints]:
    kinds: dict[tuple[type, Any], int] = {}
    places = [kinds.setdefault((type(value), repr(value)), len(kinds)) for value in values]
    first: dict[int, Any] = dict(zip(reversed(places), reversed(list(values)), strict=True))
    return [first[i] for i in range(len(kinds))], np.array(places, np.int64)


def _place_value(question: Any, value: Any) -> int:
    """The place of a value; -1 if it is to be drawn at random."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(question.encode_answer(value, _NoBits()))


class _NoBits(Bits):
    """Stands for random bits: the answer -1 marks values that are to be drawn uniformly."""

    def draw_below(self, n: int) -> int:
        return -1


# -- one function per design -------------------------------------------------------------------------------------------


def _answer_coins(design: TwoCoins, values: Ints, rng: Keystream) -> Ints:
    truth = throw_coins(rng, len(values), design.odds - ONE, design.odds + ONE)
    return np.where(truth, values, draw_below(rng, len(values), 2))


def _answer_subset(design: Subset, values: Ints, rng: Keystream) -> Ints:
    d, s = design.size, design.chosen
    blocks = [values[i : i + max(1, _CELLS // d)] for i in range(0, len(values), max(1, _CELLS // d))]
    return np.concatenate([_choose_subset(design, block, rng) for block in blocks] or [np.zeros((0, s), np.int64)])


def _choose_subset(design: Subset, values: Ints, rng: Keystream) -> Ints:
    """Draw sets of the other values, one smaller where the value is inside; places from the value on move up by one."""
    n, d, s = len(values), design.size, design.chosen
    inside = throw_coins(rng, n, s * design.odds, s * design.odds + (d - s) * ONE)
    chosen = np.zeros((n, d), bool)
    for rows, count in ((np.flatnonzero(inside), s - 1), (np.flatnonzero(~inside), s)):
        where, place = np.nonzero(choose_mask(rng, len(rows), d - 1, count))
        chosen[rows[where], place + (place >= values[rows[where]])] = True
    chosen[inside, values[inside]] = True
    return np.nonzero(chosen)[1].reshape(n, s)


def _answer_hadamard(design: Hadamard, values: Ints, rng: Keystream) -> Ints:
    column = values + 1
    even = throw_coins(rng, len(values), design.odds, design.odds + ONE)
    row = draw_below(rng, len(values), design.order)
    wrong = (np.bitwise_count(row & column) % 2 == 0) != even
    return np.where(wrong, row ^ (column & -column), row)


def _answer_hash(design: Hashed, values: Ints, rng: Keystream) -> Ints:
    a, b = 1 + draw_below(rng, len(values), design.prime - 1), draw_below(rng, len(values), design.prime)
    bins = (a * values + b) % design.prime % design.bins
    return np.column_stack([a, b, answer_direct_many(design.bins, design.odds, bins, rng)])


def _answer_projective(design: Projective, values: Ints, rng: Keystream) -> Ints:
    q, t, n = design.q, design.t, len(values)
    inside = count_points(q, t - 1)
    near = throw_coins(rng, n, inside * design.odds, inside * design.odds + (design.points - inside) * ONE)
    free = np.empty((t - 1, n), np.int16 if q < 180 else np.int64)
    free[:, near] = find_points(draw_below(rng, int(near.sum()), inside), q, t - 1)
    free[:, ~near] = _read_digits(draw_below(rng, n - int(near.sum()), q ** (t - 1)), q, t - 1)
    planes = find_points(np.arange(design.size), q, t)[:, values].astype(free.dtype)
    lead = (planes != 0).argmax(0)
    point = np.zeros((t, n), free.dtype)
    dot = np.zeros(n, np.int64)
    for i in range(t):  # all coordinates but the leading one are free; that one is solved for below
        point[i] = np.where(lead > i, free[min(i, t - 2)], np.where(lead < i, free[max(i - 1, 0)], 0))
        dot += planes[i].astype(np.int64) * point[i]
    point[lead, np.arange(n)] = (np.where(near, 0, 1) - dot) % q
    return number_points(point, q)


def find_points(numbers: Ints, q: int, t: int) -> Ints:
    """`randomise.find_point` for many numbers: one column for each."""
    found = np.zeros((t, len(numbers)), np.int64)
    left = numbers.copy()
    waiting = np.ones(len(numbers), bool)
    for lead in range(t):
        here = waiting & (left < q ** (t - 1 - lead))
        found[lead, here] = 1
        found[lead + 1 :, here] = _read_digits(left[here], q, t - 1 - lead)
        waiting &= ~here
        left[waiting] -= q ** (t - 1 - lead)
    return found


def _read_digits(numbers: Ints, q: int, count: int) -> Ints:
    digits = np.empty((count, len(numbers)), np.int64)
    for i in reversed(range(count)):
        numbers, digits[i] = np.divmod(numbers, q)
    return digits


def number_points(points: NDArray[Any], q: int) -> Ints:
    """`randomise.number_point` for many points."""
    t, n = points.shape
    lead = (points != 0).argmax(0)
    inverse = np.array([0, *(pow(i, -1, q) for i in range(1, q))], np.int64)
    scale = inverse[points[lead, np.arange(n)]]
    digits = np.zeros(n, np.int64)
    for row in points:
        digits = digits * q + row.astype(np.int64) * scale % q
    start = np.array([sum(q ** (t - 1 - i) for i in range(k)) for k in range(t)], np.int64)
    return np.asarray(digits - np.array([q ** (t - 1 - k) for k in range(t)], np.int64)[lead] + start[lead])


def _answer_unary(design: Unary, values: Ints, rng: Keystream) -> Bools:
    n, d, whole = len(values), design.size, design.odds + ONE
    heads = np.empty((n, d), bool)
    step = max(1, _CELLS // d)
    for i in range(0, n, step):
        heads[i : i + step] = throw_coins(rng, d * len(values[i : i + step]), ONE, whole).reshape(-1, d)
    own = (design.odds, whole) if design.symmetric else (1, 2)
    heads[np.arange(n), values] = throw_coins(rng, n, *own)
    return heads


def _answer_loloha(design: Loloha, values: Ints, rng: Keystream) -> Ints:
    a, b = 1 + draw_below(rng, len(values), design.prime - 1), draw_below(rng, len(values), design.prime)
    response = answer_direct_many(design.bins, design.odds, (a * values + b) % design.prime % design.bins, rng)
    return np.column_stack([a, b, answer_direct_many(design.bins, design.instant, response, rng)])


def _answer_rappor(design: Rappor, values: list[str], rng: Keystream) -> Bools:
    """One row per person: the cohort, one-hot, and then the bits."""
    n, whole = len(values), design.odds + ONE
    cohort = draw_below(rng, n, design.cohorts)
    shown = throw_coins(rng, n * design.size, ONE, whole).reshape(n, -1)
    places = {
        (c, value): list(design.find_bits(value, c)) for c, value in set(zip(cohort.tolist(), values, strict=True))
    }
    mine = [places[c, value] for c, value in zip(cohort.tolist(), values, strict=True)]
    rows = np.repeat(np.arange(n), [len(some) for some in mine])
    shown[rows, np.concatenate(mine) if n else []] = throw_coins(rng, len(rows), design.odds, whole)
    if design.instant:
        often, half = throw_coins(rng, shown.size, 3, 4), throw_coins(rng, shown.size, 1, 2)
        shown = np.where(shown, often.reshape(shown.shape), half.reshape(shown.shape))
    return np.hstack([np.arange(design.cohorts) == cohort[:, None], shown])


def _answer_bitflip(design: BitFlip, values: Ints, rng: Keystream) -> Ints:
    n, whole = len(values), design.odds + ONE
    buckets = np.nonzero(choose_mask(rng, n, design.size, design.asked))[1].reshape(n, -1)
    high = throw_coins(rng, buckets.size, design.odds, whole).reshape(buckets.shape)
    return np.asarray(2 * buckets + (high == (buckets == values[:, None])))


MAKERS: dict[type, Callable[[Any, Any, Keystream], NDArray[Any]]] = {
    Direct: lambda design, values, rng: answer_direct_many(design.size, design.odds, values, rng),
    TwoCoins: _answer_coins,
    Subset: _answer_subset,
    Hadamard: _answer_hadamard,
    Hashed: _answer_hash,
    Projective: _answer_projective,
    Unary: _answer_unary,
    Loloha: _answer_loloha,
    Rappor: _answer_rappor,
    BitFlip: _answer_bitflip,
    **bulk_numbers.MAKERS,
}
"""The function that makes reports of each design."""
