"""One page on a release, for a data-protection officer: what was done, what it cost, and what it does not do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from html import escape
from typing import Any

from discreet.anonymity import words
from discreet.anonymity.alone import describe_small
from discreet.anonymity.attacks import Disclosure, background_attack, homogeneity_attack
from discreet.anonymity.criteria import KAnonymity
from discreet.anonymity.plots import class_sizes, data_uri
from discreet.anonymity.result import Anonymised
from discreet.anonymity.risk import Risk, risk
from discreet.anonymity.words import percent
from discreet.documents.atomic_files import write_file

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#111;background:#fff;max-width:50rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0 0 .2rem}h2{font-size:1.1rem;margin:1.6rem 0 .4rem;border-bottom:1px solid #999}
table{border-collapse:collapse;width:100%;margin:.4rem 0}
th,td{text-align:left;padding:.2rem .6rem .2rem 0;vertical-align:top}
td:first-child{width:40%}
th{border-bottom:1px solid #999}td+td,th+th{padding-left:.6rem}tr+tr td{border-top:1px solid #ddd}
.lead{font-size:1.05rem}.box{border:2px solid #111;padding:.2rem 1rem .6rem;margin:1rem 0}img{max-width:100%}
small{color:#444}li{margin:.2rem 0}@media print{body{margin:0}h2{break-after:avoid}}
"""

Table = tuple[tuple[str, ...], Sequence[tuple[str, ...]]]


@dataclass(frozen=True, eq=False)
class Report:
    """A report, as `html` (one file that needs no other) and as `text`."""

    title: str
    html: str = field(repr=False)
    text: str = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all."""
        write_file(path, self.html)

    def _repr_html_(self) -> str:
        return self.html

    def __str__(self) -> str:
        return self.text


def report(
    result: Anonymised,
    *,
    original: Any = None,
    sensitive: Sequence[str] | None = None,
    population: Any = None,
    sampling_fraction: float | None = None,
    person: Any = None,
    title: str = "Report on an anonymised table",
) -> Report:
    """A page about a release. It has sizes of groups and names of columns, and no value of any row.

    Parameters
    ----------
    result : from `anonymise`.
    original : the table as it was, to state the risks before; they are left out without it.
    sensitive : columns whose disclosure is reported; all published columns that are no quasi-identifiers by default.
    population, sampling_fraction : as in `risk`, for the risks of the original.
    person : whose row each of the original is, as in `risk`; the column that `anonymise` was given, by default.
    title : the heading.

    If `anonymise` was told whose rows are whose, the page counts people.

    Examples
    --------
    >>> from discreet.anonymity import Hierarchy, anonymise
    >>> ages = {"age": Hierarchy.intervals(0, 99, width=10)}
    >>> rows = {"age": [20, 21, 24, 60, 66, 67], "ill": ["flu", "flu", "cold", "flu", "cold", "cold"]}
    >>> page = anonymise(rows, ages, sensitive=["ill"], k=3).report(original=rows)
    >>> print(page.text.splitlines()[2])
    Every published row shares its listed columns with at least 2 others, as was asked for (k = 3). 0% of 6 rows were
    left out. Of the detail in the listed columns 9.1% was lost.
    """
    names = list(result.levels)
    others = [c for c in result.table.columns if c not in names] if sensitive is None else list(sensitive)
    after = risk(result.table, names, person=result.people)
    before = None
    if original is not None:
        before = risk(original, names, population, sampling_fraction, person=_person(result, person))
    unit = _unit(result)
    parts = [
        ("What was done", [words.METHODS[result.method], _time(result)], _columns(result)),
        ("What every group meets", [words.criterion(one, unit) for one in result.criteria], None),
        ("What it cost", [], _costs(result)),
        ("How likely a person is found", [_odds_words(before)], _risks(before, after, result)),
    ]
    if others:
        disclosed = {column: _disclosed(result, names, column) for column in others}
        parts.append(("What a group gives away about everybody in it", [], _disclosures(disclosed, unit)))
    lead = _lead(result, after)
    picture = data_uri(class_sizes(after, before, k=_asked(result)))
    return Report(title, _html(title, lead, parts, picture), _text(title, lead, parts))


def _person(result: Anonymised, person: Any) -> Any:
    """Whose row each of the original is."""
    if person is None and result.person is None and result.people is not None:
        raise ValueError(
            "The release counts people, and the original does not say whose rows are whose. Hint: person=."
        )
    return result.person if person is None else person


def _unit(result: Anonymised) -> str:
    """What is counted."""
    return "rows" if result.people is None else "people"


def _disclosed(result: Anonymised, names: list[str], column: str) -> tuple[Disclosure, Disclosure]:
    """What the groups give away of a column, and what they do to somebody who can rule out one value."""
    return (
        homogeneity_attack(result.table, names, column, person=result.people),
        background_attack(result.table, names, column, 1, person=result.people),
    )


def _lead(result: Anonymised, after: Risk) -> str:
    unit = _unit(result)
    shared = _reached(_least(after), _asked(result), unit) if len(after.sizes) else "nobody: no row was published"
    return (
        f"Every published row shares its listed columns with {shared}. {percent(result.suppressed)} of "
        f"{result.rows:,} rows were {_gone(result)}. Of the detail in the listed columns "
        f"{percent(result.losses['ncp'])} was lost.{_kept_words(result)}"
    )


def _kept_words(result: Anonymised) -> str:
    """Sentences on who is found by the columns that were kept as they are, if somebody is."""
    alone, unit, said = result.alone, _unit(result), ""
    if alone.added_below_k:
        said = (
            f" But by the columns that were kept as they are, {describe_small(alone, unit)}: whoever knows these of a "
            "person finds the row, or one of a few."
        )
    if alone.added_published:
        said += (
            f" Because of the columns that were kept as they are, {percent(alone.added_published)} more of the {unit} "
            "stand alone to somebody who knows every published value."
        )
    return said


def _reached(least: int, asked: int | None, unit: str = "rows") -> str:
    """How many others a row looks like, beside how many were asked for.

    >>> _reached(5, 5), _reached(7, 5)
    ('at least 4 others, as was asked for (k = 5)', 'at least 6 others, where 4 were asked for (k = 5)')
    >>> _reached(3, None), _reached(2, 2)
    ('at least 2 others', 'at least 1 other, as was asked for (k = 2)')
    >>> _reached(5, 5, "people")
    'rows of at least 4 other people, as was asked for (k = 5)'
    """
    others = f"at least {least - 1} other" + ("" if least == 2 else "s")
    if unit == "people":
        others = f"rows of at least {least - 1} other {'person' if least == 2 else 'people'}"
    if asked is None:
        return others
    return f"{others}, {'as was' if least == asked else f'where {asked - 1} were'} asked for (k = {asked})"


def _asked(result: Anonymised) -> int | None:
    """The k that was asked for; None where groups of any size were."""
    return max((one.k for one in result.criteria if isinstance(one, KAnonymity)), default=None)


def _least(found: Risk) -> int:
    return int(min(found.sizes, default=1))


def _time(result: Anonymised) -> str:
    """Why a better release may exist, if one may."""
    if result.complete:
        return ""
    if result.reason == "size":
        return "There are too many combinations of levels to search them all: a release that loses less may exist."
    return "The search was stopped by its time limit: a release that loses less may exist."


def _gone(result: Anonymised) -> str:
    return "published as *" if result.star else "left out"


def _columns(result: Anonymised) -> Table:
    rows = []
    for name, level in result.levels.items():
        top = result.heights[name] - 1
        rows.append(
            (name, "group by group" if level is None else "as it was" if level == 0 else f"level {level} of {top}")
        )
    return ("listed column", "made coarser"), rows


def _costs(result: Anonymised) -> Table:
    rows = [(f"rows {_gone(result)}", percent(result.suppressed)), ("groups", f"{len(result.classes):,}")]
    rows += [(words.LOSSES.get(name, name), _figure(value)) for name, value in result.losses.items()]
    return ("", "figure"), rows


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _odds_words(before: Risk | None) -> str:
    basis = "" if before is None else f" Sizes in the population: {before.basis}."
    return f"The chance that somebody who knows a person's listed columns points to the right row.{basis}"


def _risks(before: Risk | None, after: Risk, result: Anonymised) -> Table:
    unit = _unit(result)

    def row(name: str, of: Any) -> tuple[str, ...]:
        return (name, "-" if before is None else of(before), of(after))

    rows = [
        row("the person most at risk, known to be in the table", lambda r: percent(r.prosecutor.largest)),
        row("on average, known to be in the table", lambda r: percent(r.prosecutor.mean)),
        row(f"{unit} that stand alone", lambda r: percent(r.sample_unique)),
        *_alone(result),
        row(f"{unit} in groups of fewer than 5", lambda r: percent(r.below(5))),
        row("groups", lambda r: f"{len(r.sizes):,}"),
        row(f"sets of columns that single out more than 5% of the {unit}", lambda r: _sets(r)),
    ]
    if before is not None and before.basis != after.basis:
        rows.insert(
            2, ("on average, known to be in the population", percent(before.journalist.mean), "no more than before")
        )
    return ("", "before", "after"), rows


def _alone(result: Anonymised) -> list[tuple[str, ...]]:
    """Who stands alone, or nearly, by the columns that were published as they are."""
    alone, unit = result.alone, _unit(result)
    kept = "to somebody who also knows the columns kept as they are"
    shares = {
        f"{unit} that stand alone {kept}": alone.kept,
        f"{unit} in groups of fewer than {alone.k} {kept}": alone.below_k,
        f"{unit} that stand alone to somebody who knows every published value": alone.published,
        "of these, because of the columns kept as they are": alone.added_published,
    }
    return [(name, "-", percent(share)) for name, share in shares.items()]


def _sets(found: Risk) -> str:
    sets = [" + ".join(one.columns) for one in found.identifying]
    more = f" and {len(sets) - 3} more" if len(sets) > 3 else ""
    return "; ".join(sets[:3]) + more if sets else "none"


def _disclosures(found: dict[str, tuple[Disclosure, Disclosure]], unit: str) -> Table:
    rows = [
        (name, percent(same.share), percent(same.mean), percent(knowing.share))
        for name, (same, knowing) in found.items()
    ]
    return (
        "column",
        f"{unit} whose group has one value",
        "mean confidence in the right value",
        f"{unit} given away to somebody who can rule out one value",
    ), rows


def _html(title: str, lead: str, parts: list[Any], picture: str) -> str:
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<small>{date.today().isoformat()}</small>",
        f'<p class="lead">{escape(lead)}</p>',
    ]
    for heading, sentences, table in parts:
        body.append(f"<h2>{escape(heading)}</h2>")
        body += [f"<p>{escape(sentence)}</p>" for sentence in sentences if sentence]
        body += [_html_table(table)] if table else []
        if heading.startswith("How likely"):
            body.append(f'<img alt="Share of the rows by size of their group" src="{picture}">')
    body.append('<div class="box"><h2>What this does not protect against</h2><ul>')
    body += [f"<li><b>{escape(name)}.</b> {escape(what)}</li>" for name, what in words.LIMITS]
    body.append(f"</ul><p>{escape(words.CLOSING)}</p></div>")
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
    view = '<meta name="viewport" content="width=device-width,initial-scale=1">'
    return f"{head}{view}<style>{STYLE}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"


def _html_table(table: Table) -> str:
    head, rows = table
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _text(title: str, lead: str, parts: list[Any]) -> str:
    lines = [title, "", lead]
    for heading, sentences, table in parts:
        lines += ["", heading.upper(), *(sentence for sentence in sentences if sentence)]
        if table:
            lines += [" | ".join(cells) for cells in (table[0], *table[1])]
    lines += ["", "WHAT THIS DOES NOT PROTECT AGAINST", *(f"- {name}. {what}" for name, what in words.LIMITS)]
    return "\n".join([*lines, "", words.CLOSING])
