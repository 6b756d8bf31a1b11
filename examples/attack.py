"""Catch a mechanism that breaks its promise: three mistakes from real programs, audited.

    python examples/attack.py

It takes a few seconds. An audit certifies how much privacy is lost at least, whatever the mechanism says of itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.audit import audit
from discreet.events import Pure
from discreet.stats import count, mean

NOISE = np.random.default_rng(0)  # for the mistakes only: noise that can be predicted is no noise
NOBODY, SOMEBODY = np.ones((0, 1)), np.ones((1, 1))
SAME, ONE = np.zeros(20), np.append(np.zeros(19), 1.0)


def upside_down(rows: Any) -> float:
    """A count with noise of scale ε where it must be 1/ε."""
    return len(rows) + NOISE.laplace(scale=0.5)


def from_the_data(x: Any) -> float:
    """A mean whose noise is as large as these very rows make it."""
    change = np.abs((x.sum() - x) / (len(x) - 1) - x.mean()).max()
    return float(x.mean() + NOISE.laplace(scale=change / 0.5) if change else x.mean())


def in_floats(rows: Any) -> float:
    """A count with the right noise, drawn as a float: whether its low bits could come from a 1."""
    answer = len(rows) + NOISE.laplace(scale=2.0)
    return float(np.ldexp(answer, 53) % 1 != 0)


def main() -> None:
    """Three mistakes, and what the library does instead."""
    tries: list[tuple[str, Callable[..., Any], Any, Any]] = [
        ("scale upside down", upside_down, NOBODY, SOMEBODY),
        ("sensitivity of this table", from_the_data, SAME, ONE),
        ("noise in plain floats", in_floats, NOBODY, SOMEBODY),
        ("discreet's count", lambda rows: count(rows, epsilon=0.5), NOBODY, SOMEBODY),
        ("discreet's mean", lambda x: mean(x, (0, 1), epsilon=0.5, neighbours="replace-one"), SAME, ONE),
    ]
    for name, mechanism, one, other in tries:
        runs = 300 if name.startswith("discreet") else 3_000
        found = audit(mechanism, one, other, event=Pure(0.5), runs=runs, confidence=1 - 1e-6)
        verdict = "BROKEN" if found.violated else "not broken"
        print(f"{verdict:11} {name:26} ε = {found.declared_epsilon:g} declared, at least {found.epsilon:.2f} certified")


if __name__ == "__main__":
    main()
