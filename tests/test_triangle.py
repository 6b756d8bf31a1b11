"""Symmetric sums under pure ε: boxes, their triangle, and noise that is a symmetric matrix."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from discreet import Bounds, Budget, Ledger
from discreet.budget import radial
from discreet.curator import Curator
from discreet.engines.memory import Memory
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.norm import add_norm, norm_noise
from discreet.query import Batch, BoundedSum, OneHot

RELATIONS = ("add-remove", "replace-one")


def x(rows):
    return rows.X


def y(rows):
    return rows.y


def boxed(right=x, norm=1.0, **options):
    return BoundedSum(x, right, norm=norm, order=1, box=True, **options)


def triangle(total):
    return np.asarray(total)[..., *np.triu_indices(np.asarray(total).shape[-1])]


def images(query, table, target=None):
    return [query(Batch(table[i : i + 1], None if target is None else target[i : i + 1])) for i in range(len(table))]


@pytest.mark.catalogue("LR3")
@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_the_triangle_moves_by_no_more_than_its_bound_and_reaches_it(width):
    """All pairs of rows of a coarse cube: none beyond d(d + 1)/2, and (1, …, 1) against 0 at it."""
    query = boxed()
    limit = {relation: query.sensitivity((width, width), relation) for relation in RELATIONS}
    rows = np.array(list(product([-1.0, -0.5, 0.0, 0.5, 1.0], repeat=width)))
    found = triangle(images(query, rows)).astype(np.float64)
    farthest = max(np.abs(found - one).sum(axis=1).max() for one in found)
    alone = np.abs(found).sum(axis=1).max()
    assert farthest == alone == limit["replace-one"] == limit["add-remove"]
    assert float(farthest) * 2.0 ** query.exponent((width, width)) == width * (width + 1) / 2


@pytest.mark.catalogue("LR3")
def test_no_pair_of_random_rows_moves_the_triangle_further():
    rng = np.random.default_rng(0)
    for width, norm in product((2, 5, 11), (0.7, 3.0)):
        query = boxed(norm=norm)
        rows = rng.choice([1.0, -1.0, 0.3, 0.0, 1e5], (200, width)) * rng.uniform(0, 2, (200, width))
        found = triangle(images(query, rows))
        limit = query.sensitivity((width, width), "replace-one")
        assert max(np.abs(found - one).sum(axis=1).max() for one in found) <= limit
        assert float(limit) * 2.0 ** query.exponent((width, width)) <= norm * width * (width + 1) / 2


def test_a_box_with_a_scalar_beside_it():
    """x in a box of half-width 2, |y| <= 3: d·6 for a row more or less, twice that for an exchange; both attained."""
    query, widths = boxed(y, norm=6.0, left_norm=2.0), (3, 1)
    rows = np.array([[2.0, 9.0, -2.0], [2.0, 2.0, -2.0], [0.1, -0.4, 1.0]])
    a, b, c = images(query, rows, np.array([3.0, -5.0, 1.0]))
    unit = 2.0 ** query.exponent(widths)
    assert np.abs(a).sum() == query.sensitivity(widths, "add-remove") and np.abs(a).sum() * unit == 18
    assert (
        np.abs(a - b).sum() == query.sensitivity(widths, "replace-one") == 2 * query.sensitivity(widths, "add-remove")
    )
    assert np.allclose(c * unit, rows[2], atol=1e-6), "what lies in the box is not changed"


@pytest.mark.parametrize("order", [1, 2])
def test_a_box_bounds_vectors_too(order):
    query = BoundedSum(x, norm=0.5, order=order, box=True)
    image = query(Batch(np.array([[4.0, -4.0, 1.0, 0.5]])))
    assert np.linalg.norm(image.astype(float), order) <= query.sensitivity((4, 1), "add-remove")
    assert np.array_equal(image * 2.0 ** query.exponent((4, 1)), [0.5, -0.5, 0.5, 0.5])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_row_adds_nothing_to_a_box(bad):
    assert not boxed()(Batch(np.array([[bad, 1.0]]))).any()
    assert not boxed(y)(Batch(np.array([[0.5, 1.0]]), np.array([bad]))).any()


def test_a_table_has_no_box():
    with pytest.raises(ValueError, match="no `box`"):
        BoundedSum(OneHot(y, 3), order=1, box=True)


def measured(query, part, times, neighbours="add-remove", width=3):
    rng = Keystream.seeded(width)
    budget = Budget(2.0, neighbours=neighbours)
    releases = [
        Curator(Memory(np.zeros((0, width))), Ledger(budget), rng=rng).measure(query, budget.split(part)[0])
        for _ in range(times)
    ]
    return np.array([release.value for release in releases]), releases[0].std


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_the_noise_of_the_triangle_is_laplace_mirrored(neighbours):
    """Entries follow the stated law (Kolmogorov and Smirnov, false alarm below 1e-8); 1.3 times as much is caught."""
    values, std = measured(boxed(norm=0.5), 1, 2000, neighbours)
    assert np.array_equal(values, values.swapaxes(1, 2)) and std == pytest.approx(np.sqrt(2) * 6 * 0.5 / 2, rel=1e-6)
    drawn = triangle(values).ravel() * np.sqrt(2) / std
    assert stats.kstest(drawn, stats.laplace.cdf).pvalue > 1e-8
    assert stats.kstest(1.3 * drawn, stats.laplace.cdf).pvalue < 1e-8


@pytest.mark.parametrize("order", [1, 2])
def test_radial_noise_is_symmetric_and_of_the_stated_size(order):
    """Radius Gamma(6) in isometric coordinates; each entry's std within 12% (8 standard errors: below 1e-12)."""
    values, std = measured(BoundedSum(x, x, order=order), radial(1), 4000)
    assert np.array_equal(values, values.swapaxes(1, 2))
    assert np.abs(values.std(axis=0) / std - 1).max() < 0.12
    root = np.sqrt(7) / 2
    off = root / np.sqrt(2) if order == 2 else root
    assert np.allclose(np.broadcast_to(std, (3, 3)), np.where(np.eye(3, dtype=bool), root, off), rtol=1e-6)
    frobenius = np.linalg.norm(values, axis=(1, 2)) if order == 2 else np.linalg.norm(triangle(values), axis=1)
    assert stats.kstest(2 * frobenius, stats.gamma(6).cdf).pvalue > 1e-8
    assert stats.kstest(1.3 * 2 * frobenius, stats.gamma(6).cdf).pvalue < 1e-8


def test_gaussian_noise_on_a_box_is_symmetric():
    budget = Budget(1.0, 1e-6)
    release = Curator(Memory(np.zeros((5, 3))), Ledger(budget)).measure(boxed(), budget.whole())
    assert np.array_equal(release.value, release.value.T) and np.ndim(release.std) == 0


def test_one_feature_is_a_matrix_or_a_number():
    for factor, shape in ((x, (1, 1)), (lambda rows: rows.X[:, 0], ())):
        budget = Budget(1.0)
        curator = Curator(Memory(np.ones((5, 1))), Ledger(budget))
        shares = budget.split(1, radial(1))
        for share in shares:
            assert curator.measure(BoundedSum(factor, factor, order=1, box=True), share).value.shape == shape


def test_off_the_diagonal_the_radial_noise_is_over_root_two():
    first, second = (norm_noise(50, Fraction(2**40), Keystream.seeded(3), plain) for plain in (None, 20))
    assert first[:20] == second[:20]
    assert np.allclose(np.array(second[20:]) * np.sqrt(2), np.array(first[20:]), atol=2, rtol=1e-12)


def test_radial_noise_needs_a_symmetric_total():
    for total in ([[1, 2], [3, 4]], [1, 2], [[1, 2, 3], [2, 1, 4]]):
        with pytest.raises(ValueError, match=r"symmetric matrix when symmetric=True\.$"):
            add_norm(total, 1, 1.0, symmetric=True)
    assert add_norm([[5, 6], [6, 8]], 1, 1000.0, symmetric=True).tolist() == [[5, 6], [6, 8]]


def test_bounds_are_not_part_of_a_box():
    """The library's own scaling puts rows in the box [-1, 1]: nothing is clipped there."""
    rows = Bounds(0, 10).matched(2).scale(np.array([[0.0, 10.0], [2.5, 5.0]]))
    query = boxed()
    assert np.array_equal(query(Batch(rows)) * 2.0 ** query.exponent((2, 2)), rows.T @ rows)
