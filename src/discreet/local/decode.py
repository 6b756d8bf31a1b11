"""The decoder of each design, and the decoder of one of several designs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from discreet.local.caps import Cap
from discreet.local.cones import Cone
from discreet.local.decoder import Decoder, Ints
from discreet.local.design import Design, Direct, Hadamard, Hashed, Projective, Subset, TwoCoins, Unary
from discreet.local.lasting import BitFlip, Loloha, Rappor
from discreet.local.lines import HybridDesign, LaplaceDesign, TableDesign, WindowDesign
from discreet.local.mean_decoders import DirectionDecoder, LevelDecoder, SignDecoder
from discreet.local.randomise import ReportNumbers
from discreet.local.several import OneOf
from discreet.local.share_decoders import (
    BitFlipDecoder,
    BloomDecoder,
    HadamardDecoder,
    HashDecoder,
    ProjectiveDecoder,
    ShareDecoder,
    SubsetDecoder,
    UnaryDecoder,
)


class OneOfDecoder(Decoder):
    """One of several designs: for each of them, the number of people who answered by it, and their counts."""

    @cached_property
    def parts(self) -> list[Decoder]:
        """The decoder of each part."""
        pairs = zip(self.design.parts, self.question.parts, strict=True)
        return [DECODERS[type(design)](design, question) for design, question in pairs]

    @property
    def cell_count(self) -> int:
        return sum(1 + part.cell_count for part in self.parts)

    def count_reports(self, reports: dict[int, Any]) -> Ints:
        """The number of reports of each part, and the counts of valid reports, given by the number of the part."""
        found = []
        for i, part in enumerate(self.parts):
            rows = reports.get(i, ())
            found.append(np.array([len(rows)], np.int64))
            found.append(part.count_reports(np.asarray(rows)) if len(rows) else np.zeros(part.cell_count, np.int64))
        return np.concatenate(found)

    def stack_reports(self, reports: list[ReportNumbers]) -> Any:
        rows: dict[int, list[ReportNumbers]] = {}
        for which, *rest in reports:
            rows.setdefault(which, []).append(tuple(rest))
        return {i: self.parts[i].stack_reports(some) for i, some in rows.items()}

    def split_counts(self, counts: Ints) -> list[tuple[int, Ints]]:
        """The number of people who answered each part, and their counts."""
        found, at = [], 0
        for part in self.parts:
            found.append((int(counts[at]), counts[at + 1 : at + 1 + part.cell_count]))
            at += 1 + part.cell_count
        return found

    def accepts_counts(self, counts: Ints, n: int) -> bool:
        parts = self.split_counts(counts)
        fit = all(part.accepts_counts(some, m) for part, (m, some) in zip(self.parts, parts, strict=True))
        return fit and sum(m for m, _ in parts) == n

    def estimate(self, counts: Ints, n: int) -> Any:
        return [part.estimate(some, m) for part, (m, some) in zip(self.parts, self.split_counts(counts), strict=True)]

    def estimate_std(self, counts: Ints, n: int) -> Any:
        return [
            part.estimate_std(some, m) for part, (m, some) in zip(self.parts, self.split_counts(counts), strict=True)
        ]

    def estimate_interval(self, counts: Ints, n: int, z: float) -> tuple[Any, Any]:
        pairs = zip(self.parts, self.split_counts(counts), strict=True)
        low, high = zip(*(part.estimate_interval(some, m, z) for part, (m, some) in pairs), strict=True)
        return list(low), list(high)

    @property
    def influence(self) -> float:
        return float(self.design.size * max(part.influence for part in self.parts))


DECODERS: dict[type[Design], type[Decoder]] = {
    Loloha: HashDecoder,
    BitFlip: BitFlipDecoder,
    Rappor: BloomDecoder,
    OneOf: OneOfDecoder,
    Cap: SignDecoder,
    Cone: DirectionDecoder,
    TableDesign: LevelDecoder,
    WindowDesign: LevelDecoder,
    HybridDesign: LevelDecoder,
    LaplaceDesign: LevelDecoder,
    Direct: ShareDecoder,
    TwoCoins: ShareDecoder,
    Subset: SubsetDecoder,
    Hadamard: HadamardDecoder,
    Projective: ProjectiveDecoder,
    Hashed: HashDecoder,
    Unary: UnaryDecoder,
}
"""The decoder of each design."""
