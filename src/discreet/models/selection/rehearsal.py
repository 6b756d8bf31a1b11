"""Rows that are not there: the public facts of a table and nothing else, to rehearse a fit on for free."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.engines.memory import Memory


class Schema(Memory):
    """An engine without rows.

    What a private fit charges does not depend on rows, so a fit on none shows what it would be on any; and parameters
    that a model refuses are refused before anything is charged.

    Parameters
    ----------
    width, columns : of the table.
    count : the number of rows, where it is public.
    labelled : whether targets are labels.
    """

    def __init__(self, width: int, columns: tuple[str, ...] | None, count: int | None, labelled: bool) -> None:
        y = np.empty(0, dtype=object if labelled else np.float64)
        super().__init__(np.empty((0, width)), y, labels=labelled)
        self.columns, self.count = columns, count

    def count_replace_one(self) -> int:
        """The public number of rows."""
        return self.count or 0

    def _take_rows(self, heads: Any) -> Memory:
        some = Schema.__new__(Schema)
        some.__dict__.update(super()._take_rows(heads).__dict__, count=self.count)
        return some
