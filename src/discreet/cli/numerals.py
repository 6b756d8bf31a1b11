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


def measured(value: float, low: float, high: float) -> tuple[str, str]:
    """A number and its interval, to no finer digits than the interval allows: two of its half.

    Ends are rounded outwards, so that the interval holds as often as it did.

    >>> measured(31970.4, 12187.5, 60000.0), measured(49.326, 49.1, 49.6), measured(7.0, 7.0, 7.0)
    (('32,000', '12,000 to 60,000'), ('49.33', '49.1 to 49.6'), ('7', '7 to 7'))
    """
    half = (high - low) / 2
    if not (half > 0 and math.isfinite(half)):
        return numeral(value), span(low, high)
    grain = 10.0 ** (math.floor(math.log10(half)) - 1)
    floor, ceiling = math.floor(low / grain + 1e-9) * grain, math.ceil(high / grain - 1e-9) * grain
    return numeral(round(value / grain) * grain), span(floor, ceiling)


def shorten_middle(name: str, most: int) -> str:
    """A name of at most so many characters: what is cut off is its middle, since names differ at their ends.

    >>> shorten_middle("time_in_hospital_before_2010", 18), shorten_middle("age", 18)
    ('time_in_h…ore_2010', 'age')
    """
    if len(name) <= most:
        return name
    front = most // 2
    return f"{name[:front]}…{name[len(name) - (most - front - 1) :]}"
