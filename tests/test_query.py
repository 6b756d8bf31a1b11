"""Bounded sums: norms that cannot be exceeded, images that depend on their row alone, totals that are exact."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from discreet.engines.memory import Memory
from discreet.query import Batch, BoundedSum, Lattice, OneHot, Total

HOSTILE = st.one_of(
    st.floats(width=64),
    st.sampled_from([np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324, -0.0, 0.0, 1.0, -1.0, 2.0**-30]),
)


SOME = st.integers(1, 6)


def tables(width, rows=SOME):
    return rows.flatmap(lambda n: hnp.arrays(np.float64, (n, width), elements=HOSTILE))


def x(rows):
    return rows.X


def y(rows):
    return rows.y


def norm_of(image, order):
    entries = [int(entry) for entry in np.ravel(image)]
    return Fraction(sum(map(abs, entries))) if order == 1 else math.isqrt(sum(e * e for e in entries) - 1) + 1


@given(st.data(), st.sampled_from([1, 2]), st.integers(1, 5), st.floats(1e-6, 1e6), st.booleans())
@settings(max_examples=200, deadline=None)
def test_the_integer_norm_never_exceeds_the_bound(data, order, width, norm, symmetric):
    table = data.draw(tables(width, st.just(1)))
    query = BoundedSum(x, x if symmetric else None, norm=norm, order=order)
    image = query(Batch(table))
    limit = query.sensitivity((width, width if symmetric else 1), "add-remove")
    assert norm_of(image, order) <= limit if image.any() else True
    assert float(limit) * 2.0 ** query.exponent((width, width if symmetric else 1)) <= norm


@given(st.data(), st.sampled_from([1, 2]), st.integers(1, 5))
@settings(max_examples=150, deadline=None)
def test_a_row_has_the_same_image_alone_and_in_company_in_any_layout(data, order, width):
    table = data.draw(tables(width))
    query = BoundedSum(x, x, norm=1.0, order=order)
    alone = sum(query(Batch(table[i : i + 1])) for i in range(len(table)))
    wide = np.zeros((len(table), 2 * width))
    wide[:, ::2] = table
    for layout in (table, np.asfortranarray(table), wide[:, ::2], table[::-1]):
        assert np.array_equal(query(Batch(layout)), alone)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_a_bad_row_adds_nothing(bad):
    good = np.array([[0.5, 0.25]])
    both = np.vstack([good, [[bad, 0.1]]])
    query = BoundedSum(x, x)
    assert np.array_equal(query(Batch(both)), query(Batch(good)))
    mixed = BoundedSum(x, y)
    assert np.array_equal(mixed(Batch(np.vstack([good, good]), np.array([1.0, bad]))), mixed(Batch(good, np.ones(1))))


def test_no_bias_at_a_million_rows():
    """Noiseless X'X within 0.05 of the float result: rows inside the ball, and rows that are all clipped."""
    X = np.random.default_rng(0).normal(size=(1_000_000, 10))
    inside = X / (np.abs(X).max() * math.sqrt(10))
    clipped = X / np.linalg.norm(X, axis=1, keepdims=True)
    for given_, exact in ((inside, inside), (X * 3, clipped)):
        query = BoundedSum(x, x, norm=1.0)
        total = Memory(given_).sum(query).astype(float) * 2.0 ** query.exponent((10, 10))
        assert np.abs(total - exact.T @ exact).max() < 0.05


def test_totals_are_exact_integers_whatever_the_blocks():
    rng = np.random.default_rng(1)
    X, t = rng.normal(size=(5000, 7)), rng.normal(size=5000)
    for query in (BoundedSum(x, x), BoundedSum(x, y, norm=2.0), BoundedSum(x, norm=3.0, order=1)):
        totals = [Memory(X, t, block=block).sum(query) for block in (None, 1, 13, 4999)]
        totals.append(Memory(X[::-1], t[::-1]).sum(query))
        assert all(np.array_equal(total, totals[0]) for total in totals)


def test_a_product_agrees_with_python_integers():
    rng = np.random.default_rng(2)
    X, t = rng.normal(size=(301, 6)), rng.normal(size=301)
    query = BoundedSum(x, y, norm=4.0, left_norm=2.0)
    left, right = query.choose_lattices((6, 1))
    (a, _), (b, _) = left.quantise(X, 2), right.quantise(t, 2)
    expected = [sum(int(p) * int(q) for p, q in zip(row, b[0], strict=True)) for row in a]
    assert Memory(X, t).sum(query).tolist() == expected


def test_wide_factors_use_a_coarser_grid_so_that_squares_stay_exact():
    for width in (1, 2, 128, 129, 500, 4000):
        lattice = Lattice.for_norm(1.0, 23, width)
        assert lattice.limit**2 * width <= 2**53 or width == 1
    X = np.random.default_rng(3).normal(size=(50, 500))
    query = BoundedSum(x, x)
    assert np.array_equal(Memory(X).sum(query), Memory(X[::-1], block=3).sum(query))


@pytest.mark.parametrize("width", [1, 3, 5, 50, 129])
@pytest.mark.parametrize("rows", [1, 127, 128, 1000])
def test_batched_products_agree_with_integers(width, rows):
    X = np.random.default_rng(rows).normal(size=(rows, width)).astype(np.float32)
    for bits in (1, 12, 23):
        query = BoundedSum(x, x, bits=bits)
        with np.errstate(all="ignore"):
            z = query.choose_lattices((width, width))[0].quantise(X, 2)[0].astype(np.int64)
        assert np.array_equal(query(Batch(X)), z @ z.T)


def test_totals_do_not_overflow():
    total = Total()
    for _ in range(5):
        total.add(np.array([2**62, -(2**62), 1]))
    assert total.value().tolist() == [5 * 2**62, -5 * 2**62, 5]


def test_one_hot_counts_and_sums():
    codes = np.array([[0.0], [2.0], [2.0], [7.0], [-1.0]])
    table = OneHot(lambda rows: rows.X[:, 0], 3)
    assert Memory(codes).sum(BoundedSum(table)).tolist() == [1, 0, 2]
    weighted = BoundedSum(table, y, norm=1.0)
    total = Memory(codes, np.array([0.5, 1.0, -0.25, 1, 1])).sum(weighted).astype(float)
    assert (total * 2.0 ** weighted.exponent((3, 1))).tolist() == [0.5, 0.0, 0.75]


def test_one_hot_of_several_columns_hits_each_table_once():
    table = OneHot(lambda rows: rows.X, 2, columns=3)
    total = Memory(np.array([[0.0, 1, 1], [0, 0, 5]])).sum(BoundedSum(table))
    assert total.tolist() == [[2, 0], [1, 1], [0, 1]]
    assert BoundedSum(table).sensitivity((6, 1), "add-remove") ** 2 >= 3
    assert BoundedSum(table, order=1).sensitivity((6, 1), "add-remove") == 3


def test_replace_one_costs_root_two_for_x_x_and_twice_in_general():
    def ratio(query, widths):
        one, other = (float(query.sensitivity(widths, how)) for how in ("add-remove", "replace-one"))
        return other / one

    assert ratio(BoundedSum(x, x), (3, 3)) == pytest.approx(math.sqrt(2), rel=1e-9)
    assert ratio(BoundedSum(OneHot(x, 4)), (4, 1)) == pytest.approx(math.sqrt(2), rel=1e-9)
    assert ratio(BoundedSum(x, y), (3, 1)) == 2
    assert ratio(BoundedSum(x, x, order=1), (3, 3)) == 2


def test_root_two_is_enough_for_x_x():
    rng = np.random.default_rng(4)
    query = BoundedSum(x, x)
    limit = query.sensitivity((3, 3), "replace-one")
    for _ in range(200):
        u, v = rng.normal(size=(2, 1, 3)) * 10
        assert norm_of(query(Batch(u)) - query(Batch(v)), 2) <= limit + 1


def test_empty_data_have_the_same_shape():
    for query, shape in ((BoundedSum(x, x), (4, 4)), (BoundedSum(x, y), (4,)), (BoundedSum(OneHot(y, 9)), (9,))):
        assert Memory(np.empty((0, 4)), np.empty(0)).sum(query).shape == shape


@pytest.mark.parametrize("wrong", [{"norm": 0.0}, {"norm": math.inf}, {"order": 3}, {"left_norm": -1.0}, {"bits": 30}])
def test_bad_arguments(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        BoundedSum(x, x, **wrong)
