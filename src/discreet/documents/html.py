"""Values as HTML, for notebooks: tables and paragraphs that look well on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def write_table(rows: Iterable[Sequence[Any]], header: Sequence[str] = (), caption: str = "") -> str:
    """A table; the first column is aligned to the left, since it names what the others are about.

    >>> write_table([("age", 49.3)], ("column", "mean"))
    '<table><thead><tr><th style="text-align:left">column</th><th>mean</th></tr></thead><tbody>...</tbody></table>'
    """
    head = f"<thead><tr>{_cells('th', header)}</tr></thead>" if header else ""
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    title = f'<caption style="text-align:left">{escape(caption)}</caption>' if caption else ""
    return f"<table>{title}{head}<tbody>{body}</tbody></table>"


def write_paragraphs(text: str) -> str:
    r"""Lines of text, one below the other.

    >>> write_paragraphs("ε = 1\nδ < 1e-6")
    '<p>ε = 1<br>δ &lt; 1e-6</p>'
    """
    return f"<p>{'<br>'.join(escape(line.strip()) for line in text.splitlines())}</p>"


def write_warning(text: str) -> str:
    """A sentence that must not be overlooked."""
    return f'<p style="color:#b00020"><b>{escape(text)}</b></p>' if text else ""


def _cells(tag: str, values: Sequence[Any]) -> str:
    left = ' style="text-align:left"'
    return "".join(f"<{tag}{left if not place else ''}>{escape(str(one))}</{tag}>" for place, one in enumerate(values))
