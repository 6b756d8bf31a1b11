"""Deltas: which δ is too large to be a promise, on the command line and in privacy.toml."""

from __future__ import annotations

LARGEST = 1e-3  # where it is not known how many units there are


def check_delta(delta: float, n: int | None, unit: str, name: str) -> None:
    """Raise if a promise with this δ would allow to publish whole units.

    A mechanism that publishes each unit with probability δ keeps the promise: n δ of them, on average, are out.

    | n | largest δ |
    | --- | --- |
    | known | 0.1 / n |
    | not known | 1e-3, which is too large already for any table but a very small one |

    Parameters
    ----------
    name : what the δ is called where it was written.
    """
    if delta <= most(n):
        return
    if n is None:
        raise ValueError(
            f"{name}, {delta:g}, is too large. δ is the chance that the promise fails for one {unit}, so it must be "
            "far below one over their number. Hint: 1e-6, or 0; n = ... under [data] lets it be checked."
        )
    raise ValueError(
        f"{name}, {delta:g}, is too large for n = {n}: such a promise would allow to publish whole {unit}s. Hint: "
        f"{0.01 / n:.1g}, or 0."
    )


def most(n: int | None) -> float:
    """The largest δ for about so many units."""
    return LARGEST if n is None else 0.1 / n
