r"""CSV for partners: every cell and every line end written in one way.

One cell within quotes among bare ones, or one `\r\n` among `\n`, tells a row apart from all others, also where its
values do not: by it the tables of two partners can be joined. `require_k` looks at values, so values are all that a
partner gets.

| in the file | for a partner |
| --- | --- |
| `"north"` and `north` | `north`; quotes where a cell needs them, and nowhere else |
| `,,` and `,"",` | `,,` |
| line ends | all as that of the header |
| the last line without an end | with one |
| cells that are not written in the encoding of the file | refused: nobody can tell their values |
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from discreet.pseudonyms.lines import Cells, Dialect, Words


def canonical(cells: Cells, words: Words, kept: npt.NDArray[np.bool_] | None, end: str) -> pa.Array:
    """Each record with words in place of some columns, and without others; as `Cells.replaced`."""
    columns = {
        str(place): words[place] if place in words else bare(cells.column(place), cells.dialect)
        for place in range(cells.starts.shape[1])
    }
    frame = pl.DataFrame({place: own.fill_null("") for place, own in columns.items() if own is not None})
    frame = frame if kept is None else frame.filter(pl.Series(kept))
    lines = frame.select(pl.concat_str(pl.all(), separator=cells.dialect.delimiter or ",") + end).to_series()
    return lines.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.large_binary())


def bare(text: pl.Series, dialect: Dialect) -> pl.Series:
    """Texts as cells: within quotes where they need them, and nowhere else.

    >>> bare(pl.Series(["north", "a,b", 'a "b" c', ""]), Dialect(",")).to_list()
    ['north', '"a,b"', '"a ""b"" c"', '']
    """
    quote = dialect.quote
    if quote is None:
        return text
    needed = text.str.contains_any([dialect.delimiter or ",", quote, "\n", "\r"])
    if not needed.any():
        return text
    within = quote + text.str.replace_all(quote, quote * 2, literal=True) + quote
    return within.zip_with(needed, text)
