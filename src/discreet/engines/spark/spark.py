"""Rows on Apache Spark: each task adds up its own, and exact totals alone come back.

What is asked of the rows is written down as steps, sent to the tasks with the query, and done there by `Memory` on each
Arrow batch. Totals are whole numbers, so neither partitions nor order nor a task that ran twice can change a bit of
them. This file is the driver's half; `spark_task` is the workers', and `spark_failures` says what went wrong.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any
from urllib.parse import unquote, urlsplit

import discreet
from discreet.engines import BaseRows, Coins
from discreet.engines.spark.failures import make_error, run_on_spark
from discreet.engines.spark.tasks import Ask, Count, MethodCall, PartitionTask, Sum, Tally, make_worker
from discreet.engines.stream.files import Stamp
from discreet.engines.stream.roles import refuse_single_text
from discreet.errors import EngineError, NotSupported
from discreet.query import Batch, BoundedSum, Exact, Image, Together

NUMBERS = {"boolean", "byte", "short", "integer", "long", "float", "double", "decimal"}
TEXTS = {"string", "char", "varchar"}
# what leaves rows where they are: after anything else in a plan (joins, groups, sorts) Spark may order them anew
STEADY = {"Project", "Filter", "Union", "Sample", "Generate", "Expand", "MapInArrow", "PythonMapInArrow", "MapInPandas"}
STEADY |= {"ArrowEvalPython", "BatchEvalPython", "MapElements", "MapPartitions", "SubqueryAlias", "View"}
STEADY |= {"DeserializeToObject", "SerializeFromObject"}
# what gives the same rows in the same places again; an RDD, a stream, a database may not
ROOTS = {"Range", "LocalRelation", "OneRowRelation", "InMemoryRelation"}
FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"


def is_spark(X: Any) -> bool:
    """Whether X is a Spark data frame; Spark is not imported to tell."""
    kinds = [(kind.__module__, kind.__name__) for kind in type(X).__mro__]
    return any(module.startswith("pyspark.sql.") and name == "DataFrame" for module, name in kinds)


def from_spark(
    dataframe: Any, target: str | None = None, columns: Sequence[str] | None = None, unit: str | None = None
) -> Spark:
    """Rows of a Spark data frame, read where they lie.

    Parameters
    ----------
    dataframe : of Spark 4. Its plan is run once for every sum; nothing is persisted for you.
    target : the column to learn, of numbers or labels, if there is one.
    columns : the features; all other columns, unless given. Numbers, decimals and booleans; null counts as missing.
    unit : the column that says which unit a row belongs to, if a unit has several rows.

    The package must be installed on the workers, in the same version, under the same Python.

    A Poisson sample without units draws a row's coin by its place, `monotonically_increasing_id()`: a task that is run
    again finds the same coins, as long as the plan gives the same rows in the same order. Where the plan shows that it
    may not (after a join, a sort, a random column, or of an RDD), sampling is refused: `persist()` the data frame first
    or, safest, write it to a table. With units, coins go by the unit's name, and the order does not matter.

    | data frame | what happens |
    | --- | --- |
    | without rows | an answer, of noise alone |
    | without such a column | ValueError, before any job |
    | features that are no numbers | TypeError, before any job; `assign_units(unit)` takes the unit's column out first |
    | a session that stops, workers without the package | EngineError |

    Examples
    --------
    >>> import discreet as dc  # doctest: +SKIP
    >>> LinearRegression(epsilon=1.0).fit(dc.from_spark(spark.table("visits"), target="cost"))  # doctest: +SKIP
    """
    refuse_single_text(columns)
    fields = run_on_spark(dataframe, lambda: dataframe.schema.fields)
    names = tuple(one.name for one in fields)
    wanted = [*(names if columns is None else columns)]
    if target is not None:
        wanted = [name for name in wanted if name != target] if columns is None else wanted
        wanted.append(target)
    _check_columns(names, wanted)
    kinds = tuple(one.dataType.typeName() for one in fields)
    last = None if target is None else names.index(target)
    features = tuple(names.index(name) for name in (wanted if target is None else wanted[:-1]))
    if last is not None and kinds[last] not in NUMBERS | TEXTS:
        raise TypeError(f"The target {target!r} is of type {kinds[last]}: neither numbers nor labels.")
    rows = Spark(_Source(dataframe, names, kinds, features, last), ())
    return rows if unit is None else rows.assign_units(unit)


def _check_columns(names: tuple[str, ...], wanted: list[str]) -> None:
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise ValueError(f"There are no columns {unknown}. There are: {list(names)}.")
    twice = sorted({name for name in wanted if names.count(name) > 1 or wanted.count(name) > 1})
    if twice:
        raise ValueError(f"Column names must differ. Twice: {twice}.")


@dataclass(frozen=True)
class _Source:
    """A data frame, and which of its columns are what, by their places."""

    dataframe: Any
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    features: tuple[int, ...]
    target: int | None
    unit: int | None = None
    numeric: bool = True
    selections: dict[tuple[bool, bool], Any] = field(default_factory=dict, init=False, compare=False)

    @property
    def has_text_target(self) -> bool:
        """Whether the target is text."""
        return self.target is not None and self.kinds[self.target] in TEXTS

    def with_roles(self, features: tuple[int, ...], numeric: bool, unit: int | None) -> _Source:
        """The same with other features: numbers, unless they need not be, and are not."""
        numbers = all(self.kinds[i] in NUMBERS for i in features)
        return replace(self, features=features, numeric=numeric or numbers, unit=unit)

    def check_types(self) -> None:
        """Refuse features that are no numbers, nor text where that will do."""
        fine = NUMBERS if self.numeric else NUMBERS | TEXTS
        bad = [f"{self.names[i]} ({self.kinds[i]})" for i in self.features if self.kinds[i] not in fine]
        if bad:
            raise TypeError(
                f"Columns that are not numbers: {', '.join(bad)}. Hint: name the features in columns=[...]; encode "
                "categories in Spark; a column that says which unit a row belongs to is given as unit=..."
            )

    def select_columns(self, labels: bool, places: bool) -> Any:
        """Features as doubles, then the target, the unit, and the places, of those that there are; no job yet."""
        if (labels, places) not in self.selections:
            self.selections[labels, places] = self._build_selection(labels, places)
        return self.selections[labels, places]

    def _build_selection(self, labels: bool, places: bool) -> Any:
        # plain names: dots, letters of either case, and names that occur twice elsewhere then do not matter
        frame = self.dataframe.toDF(*(f"c{i}" for i in range(len(self.names))))
        columns = [f"{self._cell_expression(i, not self.numeric)} as x{j}" for j, i in enumerate(self.features)]
        if self.target is not None:
            columns.append(f"{self._cell_expression(self.target, labels)} as y")
        if self.unit is None:
            return frame.selectExpr(*columns, *(["monotonically_increasing_id() as place"] if places else []))
        frame = frame.filter(f"c{self.unit} is not null")
        if self.kinds[self.unit] in ("float", "double"):
            frame = frame.filter(f"not isnan(c{self.unit})")
        return frame.selectExpr(*columns, f"c{self.unit} as unit").repartition("unit")  # a unit's rows in one task

    def _cell_expression(self, place: int, raw: bool) -> str:
        return f"c{place}" if raw and self.kinds[place] != "decimal" else f"cast(c{place} as double)"

    def is_steady(self) -> bool:
        """Whether the rows lie in the same places whenever they are read, as far as the plan tells."""
        jdf = getattr(self.dataframe.select("*"), "_jdf", None)  # a new plan, that knows of what was persisted since
        if jdf is None:  # Spark Connect shows no plan
            level = self.dataframe.storageLevel
            return bool(level.useMemory or level.useDisk)
        plan = jdf.queryExecution().optimizedPlan()
        return bool(plan.deterministic()) and _is_steady_plan(plan)


def _is_steady_plan(plan: Any) -> bool:
    inner = plan.children()
    below = [inner.apply(i) for i in range(inner.size())]
    return plan.nodeName() in STEADY and all(map(_is_steady_plan, below)) if below else _is_steady_root(plan)


def _is_steady_root(plan: Any) -> bool:
    if plan.nodeName() == "LogicalRelation":
        return bool(plan.relation().getClass().getName() == FILES)
    return plan.nodeName() in ROOTS


class Spark(BaseRows):
    """Rows behind Spark; `from_spark` makes them."""

    def __init__(self, source: _Source, steps: tuple[MethodCall, ...]) -> None:
        self._source, self._steps = source, steps
        self._has_codes = any(step.name == "encode_targets" for step in steps)
        self._labels = source.has_text_target or self._has_codes
        self._is_sampled = any(step.name in ("sample", "split_into_blocks") for step in steps)
        self._no_rows = self._make_task(Count()).make_empty_rows(source.has_text_target)
        self.width: int = self._no_rows.width
        mapped = any(step.name == "map" for step in steps)
        self.columns = self._no_rows.columns if mapped else tuple(source.names[i] for i in source.features)
        bound = any(step.name in ("limit_rows_per_unit", "share_within_units") for step in steps)
        self.unit = None if bound or source.unit is None else source.names[source.unit]

    def _make_task(self, ask: Ask) -> PartitionTask:
        source = self._source
        labels = self._labels or isinstance(ask, Tally)
        target, unit = source.target is not None, source.unit is not None
        return PartitionTask(len(source.features), target, labels, unit, self._steps, ask, source.numeric)

    def _add_step(self, name: str, *arguments: Any, item: int | None = None) -> Spark:
        return self._derive(self._source, (*self._steps, MethodCall(name, arguments, item)))

    def _derive(self, source: _Source, steps: tuple[MethodCall, ...]) -> Spark:
        """Rows made of these, whose noise is added by whoever adds that of these."""
        some = Spark(source, steps)
        some.adder = self.adder
        return some

    def expect_types(self, *, numeric: bool = True, labels: bool = False) -> Spark:
        """The same rows for a use of them: features of numbers or text if not `numeric`, targets too with `labels`."""
        if self._source.has_text_target and not self._has_codes and not labels:
            raise TypeError(f"The target {self._source.names[self._source.target or 0]!r} is text, not numbers.")
        return self._derive(self._source.with_roles(self._source.features, numeric, self._source.unit), self._steps)

    def make_empty_batch(self) -> Batch:
        """A batch without rows."""
        self._source.check_types()
        return self._no_rows.make_empty_batch()

    def sum(self, query: BoundedSum | Together) -> Exact:
        """The exact total over all rows, in units of the query's grid."""
        zero = query(self.make_empty_batch())  # tells the shape, and `Together` of those of its parts
        total: Exact = self._run_task(Sum(query, zero.shape))
        return total

    def count_labels(self) -> dict[Any, int]:
        """How many rows hold each target; missing ones are left out."""
        if self._source.target is None:
            raise ValueError("These rows bring no target.")
        counts: dict[Any, int] = self._run_task(Tally())
        yes_no = self._source.kinds[self._source.target] == "boolean" and not self._has_codes
        return {bool(label): count for label, count in counts.items()} if yes_no else counts

    def count_replace_one(self) -> int:
        """The number of rows: public under replace-one neighbours, and only there."""
        if self._source.unit is None and not self._is_sampled:
            return int(run_on_spark(self._source.dataframe, self._source.dataframe.count))
        return int(self._run_task(Count()))

    def sample(self, rate: float, coins: Coins) -> Spark:
        """A Poisson sample of the units, or of the rows where there are none."""
        if rate < 1:
            self.check_places()
        return self._add_step("sample", rate, coins)

    def split_into_blocks(self, count: int, coins: Coins) -> Iterator[Spark]:
        """The rows in `count` disjoint blocks: each unit, or row, is in one of them, drawn for it alone."""
        self.check_places()
        return (self._add_step("split_into_blocks", count, coins, item=i) for i in range(count))

    def check_places(self) -> None:
        """Raise if rows have no places that stay: before anything is charged for a sample."""
        if self._source.unit is None and not run_on_spark(self._source.dataframe, self._source.is_steady):
            raise EngineError(
                "Rows of this data frame are sampled by their places, and its plan may order them anew whenever it is "
                "run. Hint: persist() it, or write it to a table and read that; or give the unit that rows belong to."
            )

    def encode_targets(self, classes: Sequence[Any]) -> Spark:
        """The same rows, with the place of each target in a public list of classes; NaN for any other."""
        return self._add_step("encode_targets", tuple(classes))

    def map(self, image: Image, columns: Sequence[str] | None = None) -> Spark:
        """Rows whose features are `image(batch)`; targets are kept."""
        return self._add_step("map", image, columns)

    def assign_units(self, unit: str) -> Spark:
        """The same rows, each belonging to the unit that this column names: Spark brings them together for each pass.

        A task then holds all rows of its partition at once: see `spark.sql.shuffle.partitions`.
        """
        if self._steps or self._source.unit is not None:
            raise ValueError("Rows are told of their units once, before anything else is asked of them.")
        _check_columns(self._source.names, [unit])
        place = self._source.names.index(unit)
        kind = self._source.kinds[place]
        if place == self._source.target:
            raise ValueError(f"The column {unit!r} is the target already: it cannot name the units too.")
        if kind not in (NUMBERS | TEXTS) - {"decimal"}:
            raise TypeError(f"The unit {unit!r} is of type {kind}. Hint: cast it to a whole number or to text.")
        rest = tuple(i for i in self._source.features if i != place)
        return self._derive(self._source.with_roles(rest, self._source.numeric, place), ())

    def limit_rows_per_unit(self, limit: int, coins: Coins) -> Spark:
        """At most `limit` rows of each unit, by a keyed hash of what they hold."""
        return self._require_units()._add_step("limit_rows_per_unit", limit, coins)

    def share_within_units(self) -> Spark:
        """Rows that share what their unit may add."""
        return self._require_units()._add_step("share_within_units")

    def _require_units(self) -> Spark:
        if self._source.unit is None:
            raise ValueError("These rows belong to no units. Hint: by(unit) first.")
        return self

    def _run_task(self, ask: Any) -> Any:
        """What a question comes to over all tasks."""
        self._source.check_types()
        task = self._make_task(ask)
        try:
            work = make_worker(import_module("pyspark.cloudpickle").dumps(task), discreet.__version__)
        except Exception as error:
            kind = type(error).__name__
        else:
            return ask.combine_partials(
                run_on_spark(self._source.dataframe, lambda: self._collect_partials(work, task.labels))
            )
        raise EngineError(
            f"What is asked of each row cannot be sent to the workers ({kind}). Hint: functions of rows may hold "
            "arrays and numbers; no data, ledgers, locks or open files."
        )

    def _collect_partials(self, work: Any, labels: bool) -> list[bytes]:
        frame = self._source.select_columns(labels, self._is_sampled)
        with warnings.catch_warnings():  # of pandas, which is not used here
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            records = frame.mapInArrow(work, "problem string, total binary").collect()
        problems = {record.problem for record in records if record.problem is not None}
        if problems:
            raise make_error(min(problems))
        return [bytes(record.total) for record in records if record.total is not None]

    def read_version(self) -> str:
        """A digest of the columns, the plan and its files, with sizes and times of local ones; reads no row."""
        if self._steps:
            raise NotSupported("Rows that were mapped or sampled are not retried. Hint: hand over the rows themselves.")
        frame = self._source.dataframe
        plan, files = run_on_spark(frame, lambda: (frame.semanticHash(), sorted(frame.inputFiles())))
        stamps = [Stamp.of_file(unquote(urlsplit(name).path)) for name in files if name.startswith("file:")]
        text = repr((self._source.names, self._source.kinds, plan, files, stamps))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def describe_roles(self) -> tuple[str, str, str]:
        """The name and the type of the target, and the name of the unit."""
        source = self._source
        target, unit = (None if place is None else source.names[place] for place in (source.target, source.unit))
        return str(target), "" if source.target is None else source.kinds[source.target], str(unit)
