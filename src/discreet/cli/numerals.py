"""Numbers as people read them."""

from __future__ import annotations

import math


def numeral(value: float) -> str:
    """A number to four digits, written out, with commas between thousands.

    >>> numeral(20764.3), numeral(49.326), numeral(0.25), numeral(-1234567.0), numeral(3e-7)
    ('20,760', '49.33', '0.25', '-1,235,000', '3e-07')
    """
    if not math.isfinite(value) or (value and not 1e-4 <= abs(value) < 1e15):
        return f"{value:.4g}"
    rounded = float(f"{value:.4g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.4g}"


def span(low: float, high: float) -> str:
    """An interval.

    >>> span(20660.0, 20940.2)
    '20,660 to 20,940'
    """
    return f"{numeral(low)} to {numeral(high)}"
