"""Release: the only thing that leaves, and the only thing SOLVE may read."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.arguments import is_number
from discreet.budget import Budget
from discreet.documents import html
from discreet.errors import VersionError
from discreet.events import Event, Gaussian, Pure, flatten

VERSION = 1
NOT_PRIVATE = "NOT PRIVATE: seeded. Anyone who knows or guesses the seed can subtract the noise."


@dataclass(frozen=True, eq=False)
class Release:
    """A private answer: its value, the noise in it, and what paid for it.

    Attributes
    ----------
    name : what it is.
    value : a number or an array (or None where only its parts have values).
    std : standard deviation of the privacy noise in the value, in the units of the data.
    event : what ran, for the accountant.
    budget : the promise: ε, δ, neighbour relation, unit.
    interval : (low, high), where the answer comes with one; it holds with probability `confidence`.
    seeded : True if the noise came from a seed; such a release carries no guarantee.
    data : the name of the data set, as the ledger knows it.
    parts : the releases it was made from.
    notes : remarks for the reader.
    axes : what the cells of the value stand for, along each of its dimensions: edges or categories, both public.
    """

    name: str
    value: Any
    std: Any
    event: Event
    budget: Budget
    interval: tuple[Any, Any] | None = None
    confidence: float | None = None
    seeded: bool = False
    data: str = ""
    parts: tuple[Release, ...] = ()
    notes: tuple[str, ...] = ()
    axes: tuple[tuple[Any, ...], ...] = ()

    @property
    def epsilon(self) -> float:
        """ε of the promise."""
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """δ of the promise."""
        return self.budget.delta

    @property
    def neighbours(self) -> str:
        """The neighbour relation of the promise."""
        return self.budget.neighbours

    @property
    def unit(self) -> str:
        """The unit that is protected."""
        return self.budget.unit

    @property
    def private(self) -> bool:
        """Whether the promise holds: False for a seeded run."""
        return not self.seeded

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(float(self.value), spec) if spec else str(self)

    # arithmetic is that of the value: post-processing, which costs nothing
    def __add__(self, other: Any) -> Any:
        return _number(self) + _number(other)

    def __sub__(self, other: Any) -> Any:
        return _number(self) - _number(other)

    def __mul__(self, other: Any) -> Any:
        return _number(self) * _number(other)

    def __truediv__(self, other: Any) -> Any:
        return _number(self) / _number(other)

    def __radd__(self, other: Any) -> Any:
        return other + _number(self)

    def __rsub__(self, other: Any) -> Any:
        return other - _number(self)

    def __rmul__(self, other: Any) -> Any:
        return other * _number(self)

    def __rtruediv__(self, other: Any) -> Any:
        return other / _number(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.value, dtype=dtype)

    def __repr__(self) -> str:
        return f"<Release {self.name}: {_short(self.value)}, {self.budget}{', NOT PRIVATE' if self.seeded else ''}>"

    def __str__(self) -> str:
        return self.receipt()

    def within(self, beta: float) -> Any:
        """How far the privacy noise reaches: with probability 1 - β no entry of the value is further off by it.

        What Blum, Ligett and Roth (2008) call (α, β)-useful; sampling is not in it. For Gaussian noise and for whole
        noise on a count from their laws; otherwise by Chernoff's bound, which Laplace and gamma-radius noise, and sums
        of such, keep: E exp(λX) ≤ 1/(1 - λ²s²/2) for a deviation s. Of a ratio, such as a mean, to first order.

        >>> from discreet.stats import count
        >>> count([1.0] * 50, epsilon=1.0).within(0.05)
        3.0
        """
        if not is_number(beta) or not 0 < beta < 1:
            raise ValueError(f"The `beta` of {self.name} must be a number within (0, 1). Got {beta!r}.")
        if self.std is None:
            raise ValueError(f"How far the noise in {self.name} reaches is not told by its deviation: it has none.")
        entries = max(1, np.size(self.value))
        kinds = {type(event) for event, _ in flatten(self.event)}
        if kinds == {Gaussian}:
            times = NormalDist().inv_cdf(1 - beta / (2 * entries))
        elif isinstance(self.event, Pure) and not np.any(np.asarray(self.value, np.float64) % 1):
            return whole_reach(beta / entries, float(np.max(self.std)))
        else:
            slopes = np.linspace(0.005, 0.995, 199) * math.sqrt(2)
            times = float(((math.log(2 * entries / beta) - np.log(1 - slopes**2 / 2)) / slopes).min())
        return times * self.std

    def receipt(self) -> str:
        """What was released, for people to read: value, interval, noise and privacy guarantee."""
        lines = [f"{self.name}" + (f" = {_short(self.value)}" if self.value is not None else "")]
        if self.interval is not None:
            low, high = self.interval
            lines.append(f"  {100 * (self.confidence or 0):g}% interval   {_short(low)} to {_short(high)}")
        if self.std is not None:
            lines.append(f"  privacy noise   {_short(self.std)} (standard deviation)")
        lines.append(f"  guarantee       {self.budget}")
        lines.append(f"  data            {self.data or 'unnamed'}")
        lines += [f"  note            {note}" for note in self.notes]
        if self.seeded:
            lines.append(f"  {NOT_PRIVATE}")
        return "\n".join(lines)

    def details(self) -> str:
        """The receipt, and below it what was measured and chosen, each with its noise, and the events that ran.

        >>> from discreet.stats import count
        >>> print(count([1.0] * 50, epsilon=1.0).details().splitlines()[-1])
          ran             Pure(epsilon=1.0)
        """
        lines = [
            f"  chosen          {part.name}"
            if part.std is None
            else f"  measured        {part.name}: noise {_short(part.std)}"
            for part in self.parts
        ]
        lines += [
            f"  ran             {_round_event(event)}{f' × {times}' if times > 1 else ''}"
            for event, times in flatten(self.event)
        ]
        return "\n".join([self.receipt(), *lines])

    def _repr_html_(self) -> str:
        rows = [] if self.value is None else [(self.name, _short(self.value))]
        if self.interval is not None:
            low, high = self.interval
            rows.append((f"{100 * (self.confidence or 0):g}% interval", f"{_short(low)} to {_short(high)}"))
        if self.std is not None:
            rows.append(("privacy noise (standard deviation)", _short(self.std)))
        rows += [("privacy guarantee", str(self.budget)), ("data", self.data or "unnamed")]
        rows += [("note", note) for note in self.notes]
        return html.write_table(rows, caption=self.name) + html.write_warning(NOT_PRIVATE if self.seeded else "")

    def to_json(self) -> str:
        """A versioned document that `from_json` reads."""
        return json.dumps(self._document(), allow_nan=False)

    def _document(self) -> dict[str, Any]:
        fields = {name: _plain(getattr(self, name)) for name in ("value", "std", "interval", "confidence")}
        return {
            "discreet": "release",
            "version": VERSION,
            "name": self.name,
            **fields,
            "event": self.event.to_dict(),
            "budget": self.budget.to_dict(),
            "seeded": self.seeded,
            "data": self.data,
            "parts": [part._document() for part in self.parts],
            "notes": list(self.notes),
            "axes": [list(axis) for axis in self.axes],
        }

    @classmethod
    def from_json(cls, text: str) -> Release:
        """The release that `to_json` wrote."""
        try:
            document = json.loads(text)
        except json.JSONDecodeError:
            raise VersionError("This is not a release: it is not JSON.") from None
        return cls._read(document)

    @classmethod
    def _read(cls, document: Any) -> Release:
        if not isinstance(document, dict) or document.get("discreet") != "release":
            raise VersionError("This is not a release of discreet.")
        if document.get("version") != VERSION:
            raise VersionError(
                f"This discreet reads releases of version {VERSION}. Got version {document.get('version')!r}."
            )
        interval = document["interval"]
        return cls(
            document["name"],
            _rich(document["value"]),
            _rich(document["std"]),
            Event.from_dict(document["event"]),
            Budget.derive(**document["budget"]),
            None if interval is None else (_rich(interval[0]), _rich(interval[1])),
            document["confidence"],
            document["seeded"],
            document["data"],
            tuple(cls._read(part) for part in document["parts"]),
            tuple(document["notes"]),
            tuple(tuple(axis) for axis in document["axes"]),
        )


def whole_reach(wrong: float, std: float) -> float:
    """The least whole k with P(|G| > k) = 2p^(k + 1)/(1 + p) ≤ wrong, of whole noise with that deviation: exactly.

    With P(g) ∝ p^|g| the variance is 2p/(1 - p)² = 1/(2 sinh²(ln p / 2)).

    >>> whole_reach(0.05, 1.357), whole_reach(0.05, 0.01)  # ε about 1 and 10
    (3.0, 0.0)
    """
    if std < 1e-6:
        return 0.0
    power = -2 * math.asinh(1 / (math.sqrt(2) * std))
    return float(max(math.ceil(math.log(wrong * (1 + math.exp(power)) / 2) / power - 1), 0))


def _number(value: Any) -> Any:
    """The value of a release; anything else as it is."""
    return value.value if isinstance(value, Release) else value


def _round_event(event: Event) -> str:
    """An event with its numbers to six digits: 0.4999999999999999 is half."""
    return re.sub(r"\d+\.\d{6,}(e-?\d+)?", lambda found: f"{float(found[0]):.6g}", str(event))


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [_plain(end) for end in value] if isinstance(value, tuple) else value


def _rich(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, list) else value


def _short(value: Any) -> str:
    flat = np.asarray(value)
    if flat.dtype.kind in "fiu" and flat.ndim == 0:
        return f"{float(flat):.6g}"
    if flat.size <= 6:
        return np.array2string(flat, precision=4, separator=", ")
    if flat.dtype.kind in "fiu" and flat.min() == flat.max():
        return f"{float(flat.flat[0]):.6g} ({' × '.join(map(str, flat.shape))})"
    return f"array of {' × '.join(map(str, flat.shape))}"
