"""Local recoding of Adult next to the figures to reach, and attacks before and after.

The data (adult_arx, hierarchies_arx, link_demographic, link_medical) are looked for in $DISCREET_DATA and
../shared/data; what is missing is left out, and said so.

OPENBLAS_NUM_THREADS=1 python benchmarks/mondrian.py
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import polars as pl

from discreet.anonymity import (
    DistinctL,
    EntropyL,
    Hierarchy,
    RecursiveCL,
    TCloseness,
    anonymise,
    background_attack,
    homogeneity_attack,
    linkage_attack,
    risk,
)
from discreet.anonymity.encode import encode
from discreet.anonymity.mondrian import mondrian

COLUMNS = ["sex", "age", "race", "marital_status", "education", "native_country", "workclass", "occupation"]
GOALS = [  # k, options, the loss to stay below; the last two publish nodes of the hierarchies alone
    (10, {}, 0.053),
    (50, {}, 0.143),
    (10, {"strict": False}, 0.053),
    (50, {"strict": False}, 0.143),
    (10, {"tight": False}, None),
    (50, {"tight": False}, None),
    (5, {"recode": "nodes"}, 0.182),
    (5, {"recode": "nodes", "tight": False}, 0.182),
]


def data(name: str) -> pl.DataFrame | None:
    for folder in (os.environ.get("DISCREET_DATA"), Path(__file__).parents[2] / "shared" / "data"):
        if folder and (Path(folder) / f"{name}.parquet").exists():
            return pl.read_parquet(Path(folder) / f"{name}.parquet")
    print(f"{name}.parquet was not found in $DISCREET_DATA nor ../shared/data: left out.")
    return None


def recoding(table: pl.DataFrame, long: pl.DataFrame) -> None:
    trees = {name: Hierarchy.from_table(long, attribute=name) for name in COLUMNS}
    encoded = encode(table, trees)
    print(f"Adult, {encoded.n:,} rows, {len(COLUMNS)} quasi-identifiers; loss: mean of (values - 1)/(domain - 1)")
    for k, options, goal in GOALS:
        wall, cpu = time.perf_counter(), time.process_time()
        found = mondrian(encoded, trees, k, **options)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        assert found.classes.min() >= k
        verdict = "" if goal is None else f"  goal {goal:.3f} {'reached' if found.loss <= goal else 'MISSED'}"
        named = ", ".join(f"{name}={value}" for name, value in options.items()) or "tight boxes, strict"
        strict = strictest(found.frame(), table) if not options else None
        extra = "" if strict is None else f" ({strict:.4f} over the values that occur)"
        print(f"  k = {k:3} {named:30} loss {found.loss:.4f}{extra}{verdict}  {wall:.2f} s, {cpu:.2f} s CPU")
    diverse(table, long)


def strictest(shown: pl.DataFrame, table: pl.DataFrame) -> float:
    """The same loss, every domain cut down to the values that occur in the table: the least kind way to count."""
    total = 0.0
    for name in COLUMNS:
        occurring = table[name].n_unique()
        boxes = pl.DataFrame({"box": shown.select(pl.struct(pl.all()).rank("dense")).to_series(), "value": table[name]})
        spread = (pl.col("value").max() - pl.col("value").min()) if name == "age" else pl.col("value").n_unique() - 1
        sizes = boxes.group_by("box").agg(spread.alias("spread"), pl.len())
        total += (sizes["spread"] * sizes["len"]).sum() / (occurring - 1)
    return total / table.height / len(COLUMNS)


def diverse(table: pl.DataFrame, long: pl.DataFrame) -> None:
    names = [name for name in COLUMNS if name != "occupation"] + ["salary_class"]
    trees = {name: Hierarchy.from_table(long, attribute=name) for name in names}
    encoded = encode(table, trees, ["occupation"])
    jobs = Hierarchy.from_table(long, attribute="occupation")
    print("k = 5, eight quasi-identifiers with salary class, occupation sensitive")
    for criterion in (DistinctL(3), EntropyL(3), RecursiveCL(4, 3), TCloseness(0.2), TCloseness(0.2, jobs)):
        cpu = time.process_time()
        found = mondrian(encoded, trees, 5, [criterion])
        kind = "hierarchical" if getattr(criterion, "distance", None) is jobs else str(criterion)
        print(f"  {kind:45} loss {found.loss:.4f}  {time.process_time() - cpu:.2f} s CPU")


def attacks(names: pl.DataFrame, published: pl.DataFrame) -> None:
    columns = ["gender", "age", "zip"]
    raw = names.join(published.select("id", "diagnosis"), on="id")
    trees = {
        "gender": Hierarchy.flat(["F", "M"]),
        "age": Hierarchy.intervals(0, 99, width=5, factors=(2, 2, 2)),
        "zip": Hierarchy.prefix([f"{z:05d}" for z in range(100_000)]),
    }
    print("30,000 invented people: exact; as published (decades, three digits); and made anonymous here, k = 10, l = 4")
    shown(raw, names, columns)
    shown(published, names, columns)
    for method in ("optimal", "mondrian"):
        result = anonymise(raw, trees, sensitive=["diagnosis"], keep=["id"], k=10, l=4, suppress=0.01, method=method)
        print(f"  {method}: loss {result.loss:.3f}, {result.suppressed:.2%} suppressed")
        shown(result.table, names, columns)


def shown(table: pl.DataFrame, names: pl.DataFrame, columns: list[str]) -> None:
    start = time.perf_counter()
    print(f"    {linkage_attack(table, names, on=columns, truth='id')}  ({time.perf_counter() - start:.1f} s)")
    print(f"    one diagnosis in the class: {homogeneity_attack(table, columns, 'diagnosis').share:.2%}; ", end="")
    print(f"one can be ruled out: {background_attack(table, columns, 'diagnosis', 1).share:.2%} given away")


def estimates(table: pl.DataFrame) -> None:
    """A tenth of Adult taken as the sample, all of it as the population: the estimate next to the truth."""
    sample = table.sample(fraction=0.1, seed=1)
    truth = risk(sample, COLUMNS, population=table)
    guess = risk(sample, COLUMNS, sampling_fraction=0.1)
    print(f"marketer risk of a tenth of Adult: {guess.marketer:.3f} estimated, {truth.marketer:.3f} in truth; ", end="")
    print(f"unique in the population: {guess.population_unique:.3f}, {truth.population_unique:.3f}")


def main() -> None:
    adult, long = data("adult_arx"), data("hierarchies_arx")
    if adult is not None and long is not None:
        recoding(adult, long)
        estimates(adult)
    names, published = data("link_demographic"), data("link_medical")
    if names is not None and published is not None:
        attacks(names, published)


if __name__ == "__main__":
    main()
