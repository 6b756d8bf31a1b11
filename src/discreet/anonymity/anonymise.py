"""GENERALISE, COUNT, CHECK, SEARCH: a table in which nobody stands alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.anonymity.alone import count_alone, warn_alone
from discreet.anonymity.checker import Checker, meets
from discreet.anonymity.criteria import Criterion, KAnonymity
from discreet.anonymity.encode import pack
from discreet.anonymity.groups import Groups
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.incognito import incognito
from discreet.anonymity.infeasible import Infeasible, refusal, uncut
from discreet.anonymity.losses import NAMES, Custom, Loss, named
from discreet.anonymity.request import Request, prepare
from discreet.anonymity.result import Anonymised, draw_rows, generalised, published, renumber_people
from discreet.anonymity.search import Found, optimal
from discreet.anonymity.tally import tally

Node = tuple[int, ...]
Bools = npt.NDArray[np.bool_]
METHODS = ("optimal", "incognito", "mondrian")
EARLY = {
    "time": "Time ran out before any node that meets the request was found. Hint: more time.",
    "size": "The coarsest node does not meet the request, and there are too many nodes to search them all. "
    "Hint: hierarchies of fewer levels, or fewer quasi-identifiers.",
}


def anonymise(
    table: Any,
    quasi_identifiers: Mapping[str, Hierarchy],
    *,
    sensitive: Sequence[str] = (),
    k: int | None = 5,
    l: int | Criterion | None = None,
    t: float | Criterion | None = None,
    criteria: Sequence[Criterion] = (),
    suppress: float = 0.05,
    suppressed: Literal["remove", "star"] = "remove",
    loss: str | Loss | Callable[[Node, Groups], float] = "ncp",
    method: Literal["optimal", "incognito", "mondrian"] = "optimal",
    population: Any = None,
    missing: str | None = None,
    keep: Sequence[str] = (),
    person: Any = None,
    time_limit: float | None = None,
    tight: bool = True,
    strict: bool = True,
    recode: Literal["sets", "nodes"] = "sets",
) -> Anonymised:
    """Generalise whole columns as little as the criteria allow.

    Parameters
    ----------
    table : polars (lazy too), pandas or pyarrow frame, mapping of columns, or path of a CSV or Parquet file.
    quasi_identifiers : the columns by which somebody could be recognised, each with its hierarchy.
    sensitive : columns nobody should learn about a person; published as they are.
    k : every class has at least k rows, or rows of at least k people with `person` (None to leave it out).
    l : every class has at least l sensitive values, missing ones not counted; or a criterion such as EntropyL(3).
    t : sensitive values in every class are within t of the table's; or a criterion such as TCloseness(.2, "ordered").
    criteria : further ones. With several, every class meets all of them.
    suppress : the share of rows that may be left out; the rows of classes that fail are. "mondrian" leaves none out.
    suppressed : "remove" them, or publish them as "star", if their class meets the criteria too.
    loss : "ncp" (the only one of "mondrian"), "entropy", "discernibility", "average", or a function of node and
        groups.
    method : "optimal" (the best of all nodes), "incognito" (the best minimal node), "mondrian" (local recoding).
    population : a table with the same quasi-identifiers that contains this one, for KMap and DeltaPresence. Each of its
        rows is a person, unless it has the column `person`.
    missing : the category of null and NaN, in a sensitive column of blank text too. There it is no value: it adds
        nothing to l.
    keep : columns to carry over as they are. Columns named nowhere are left out. Whoever knows a kept column may find a
        person by it: a UniqueWarning says so if by quasi-identifiers and kept columns together some are in groups of
        fewer than k (of one, if no k is asked for), or if more stand alone in the published table than without them.
    person : the column that names people, or an array with one name for each row, where people have several rows: then
        k, l and t count people. It is a direct identifier and never published.
    time_limit : seconds after which the best found so far is returned, with `complete` False.
    tight : of "mondrian": publish the members' extremes rather than the region between cuts.
    strict : of "mondrian": rows of equal value stay together; False lets a cut part them, for a little less loss.
    recode : of "mondrian": publish intervals and "sets" of values, or "nodes" of the hierarchies.

    Notes
    -----
    Every published class meets every criterion, judged on the quasi-identifiers jointly, with the whole input as
    reference. That is a property of the table and no more: it does not bound what somebody with other knowledge learns.
    With `person`, whoever knows the quasi-identifiers of one row of somebody finds rows of at least k people; whoever
    knows several rows to be of one person knows more than that.

    | edge case | what happens |
    | --- | --- |
    | a value that a hierarchy does not cover | HierarchyError with column and count |
    | nothing meets the request | Infeasible: which criterion failed, and the nearest k, l, t or share |
    | the search ended early with nothing found | Infeasible |
    | "mondrian" with another loss, with "star" or with a time limit | ValueError |
    | DeltaPresence with low > 0 | no row is removed, whatever `suppress` is |
    | several sensitive columns | each is judged with the others as quasi-identifiers |
    | a missing or blank sensitive value | counts as the commonest of its class for l (see `criteria`) |
    | a person with several values in a class | counts for the one that makes it least diverse (l), or in parts (t) |
    | a missing or blank `person`, or a column that is also published | ValueError |
    | groups of fewer than k, or rows that stand alone, by kept columns | UniqueWarning, with their share |

    Examples
    --------
    >>> rows = {"zip": ["10", "11", "20", "21"], "ill": ["flu", "cold", "flu", "cold"]}
    >>> found = anonymise(rows, {"zip": Hierarchy.prefix(["10", "11", "20", "21"])}, sensitive=["ill"], k=2)
    >>> found.levels, found.classes, sorted(found.table["zip"])
    ({'zip': 1}, array([2, 2]), ['1*', '1*', '2*', '2*'])
    """
    if method not in METHODS:
        raise ValueError(f"`method` must be one of {', '.join(METHODS)}. Got {method!r}.")
    if suppressed not in ("remove", "star"):
        raise ValueError(f"`suppressed` must be 'remove' or 'star'. Got {suppressed!r}.")
    if isinstance(loss, str) and loss not in NAMES:
        raise ValueError(f"`loss` must be one of {', '.join(NAMES)}, or a function of node and groups. Got {loss!r}.")
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"`time_limit` must be at least 0 seconds. Got {time_limit}.")
    if method == "mondrian":
        only(loss, suppressed, time_limit)
    request = prepare(
        table, quasi_identifiers, sensitive=sensitive, k=k, l=l, t=t, criteria=criteria, suppress=suppress,
        star=suppressed == "star", population=population, missing=missing, keep=keep, person=person,
    )  # fmt: skip
    if method == "mondrian":
        result = local(request, tight, strict, recode)
    else:
        checker = request.checker()
        aim = chosen(loss, request, checker)
        found = (optimal if method == "optimal" else incognito)(checker, aim, time_limit)
        result = release(request, checker, found, method)
    result = replace(result, person=person if isinstance(person, str) else None)
    warn_alone(result.alone, keep, by_people=result.people is not None)
    return result


def chosen(loss: str | Loss | Callable[[Node, Groups], float], request: Request, checker: Checker) -> Loss:
    if isinstance(loss, str):
        return named(loss, checker.codes, checker.sizes, list(request.trees.values()), request.k)
    return loss if hasattr(loss, "of") else Custom(loss)  # type: ignore[return-value]


def release(request: Request, checker: Checker, found: Found, method: str) -> Anonymised:
    """The table of the node that was found."""
    if found.node is None:
        if not found.complete:
            raise Infeasible(EARLY[found.reason])
        raise refusal(request, checker, found.nearest)
    groups = checker.judge(found.node).groups
    kept = rows_kept(request, checker, found.node, groups)
    rows = draw_rows(kept, star=request.star)
    columns = {}
    for (name, tree), level, places in zip(request.trees.items(), found.node, request.encoded.codes.T, strict=True):
        columns[name] = generalised(tree, level, places, request.frame[name].dtype)
    others = [*request.encoded.sensitive, *request.keep]
    table = published(request.frame, columns, request.encoded.row_of, others, kept, rows)
    people = None if request.person is None else renumber_people(request.person[rows])
    return Anonymised(
        table=table,
        levels=dict(zip(request.trees, found.node, strict=True)),
        loss=found.loss,
        losses={name: chosen(name, request, checker).of(found.node, groups) for name in NAMES},
        classes=sizes(groups, request.star),
        suppressed=groups.suppressed / request.encoded.n,
        searched=found.searched,
        complete=found.complete,
        rows=request.encoded.n,
        criteria=tuple(request.criteria),
        method=method,
        heights={name: tree.height for name, tree in request.trees.items()},
        reason=found.reason,
        star=request.star,
        alone=count_alone(table, list(request.trees), request.keep, people, k=request.k),
        people=people,
    )


def sizes(groups: Groups, star: bool) -> npt.NDArray[np.int64]:
    """The people of each class of the release, largest first; those published as `*` are a class."""
    extra = groups.union(~groups.published).count_people() if star and groups.suppressed else groups.sizes[:0]
    return np.sort(np.append(groups.count_people()[groups.published], extra))[::-1]


def rows_kept(request: Request, checker: Checker, node: Node, groups: Groups) -> Bools:
    """Which rows lie in a published class."""
    trees = list(request.trees.values())
    assert groups.example is not None
    widths = [len(tree.names[level]) for tree, level in zip(trees, node, strict=True)]
    tuples = np.concatenate([request.encoded.codes, checker.codes[groups.example]])
    digits = [t.codes[level][tuples[:, c]] for c, (t, level) in enumerate(zip(trees, node, strict=True))]
    keys = pack(digits, widths)
    count = len(request.encoded.codes)
    good = np.isin(keys[:count], keys[count:][groups.published])
    return good[request.encoded.row_of]


def only(loss: Any, suppressed: str, time_limit: float | None) -> None:
    """What local recoding would have to ignore is refused."""
    if loss != "ncp":
        raise ValueError("Mondrian minimises 'ncp' alone. Hint: method='optimal' for another loss.")
    if suppressed == "star":
        raise ValueError("Mondrian suppresses no row, so none is published as `*`. Hint: method='optimal'.")
    if time_limit is not None:
        raise ValueError("Mondrian cannot be stopped early. Hint: leave `time_limit` out, or method='optimal'.")


def local(request: Request, tight: bool, strict: bool, recode: Literal["sets", "nodes"]) -> Anonymised:
    """Local recoding. Nothing is suppressed, whatever share may be."""
    from discreet.anonymity.mondrian import mondrian

    others = [c for c in request.criteria if not isinstance(c, KAnonymity)]
    if any(c.needs == "population" for c in others):
        raise ValueError("Mondrian does not look at a population. Hint: method='optimal'.")
    try:
        found = mondrian(request.encoded, request.trees, request.k, others, tight=tight, strict=strict, recode=recode)
    except Infeasible:
        raise uncut(request, whole=recode == "sets") from None
    labels = found.frame()
    refuse_twins(request, labels, others)
    everyone = np.ones(request.encoded.n, dtype=bool)
    columns, places = {name: labels[name] for name in request.trees}, np.arange(request.encoded.n)
    rows = draw_rows(everyone)
    table = published(request.frame, columns, places, [*request.encoded.sensitive, *request.keep], everyone, rows)
    people = None if request.person is None else renumber_people(request.person[rows])
    return Anonymised(
        table=table,
        levels=dict.fromkeys(request.trees),
        loss=found.loss,
        losses={"ncp": found.loss},
        classes=np.sort(found.count_people(request.person))[::-1],
        suppressed=0.0,
        searched=0,
        complete=True,
        rows=request.encoded.n,
        criteria=tuple(request.criteria),
        method="mondrian",
        heights={name: tree.height for name, tree in request.trees.items()},
        alone=count_alone(table, list(request.trees), request.keep, people, k=request.k),
        people=people,
    )


def refuse_twins(request: Request, labels: pl.DataFrame, criteria: Sequence[Criterion]) -> None:
    """Classes that are published alike are one to whoever reads, in which people of both count once."""
    if request.encoded.person is None or not criteria:
        return
    alike = labels.select(pl.struct(pl.all()).rank("dense")).to_series().cast(pl.Int64).to_numpy() - 1
    groups = tally(request.encoded, np.arange(len(alike)), alike, int(alike.max()) + 1)
    if not meets(criteria, groups).all():
        raise Infeasible(
            "Classes that are published alike do not meet the criteria together, where people have rows in several. "
            "Hint: strict=True and recode='sets', or method='optimal'."
        )
