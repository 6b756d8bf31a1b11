"""BOUND: what is added up over rows, each row clipped, in whole numbers on a public grid."""

from discreet.query.grid import Lattice, halved
from discreet.query.integer_sums import Exact, Floats, Ints, Total, root_above
from discreet.query.row_batch import Batch, Image
from discreet.query.sums import BITS, EXACT, LARGEST, ROWS, WIDEST, BoundedSum, OneHot, Together

__all__ = [
    "BITS",
    "EXACT",
    "LARGEST",
    "ROWS",
    "WIDEST",
    "Batch",
    "BoundedSum",
    "Exact",
    "Floats",
    "Image",
    "Ints",
    "Lattice",
    "OneHot",
    "Together",
    "Total",
    "halved",
    "root_above",
]
