"""Anonymity on Adult: loss and CPU time of the search, next to the best figures known.

    python benchmarks/anonymity.py          the figures, in about a minute
    python benchmarks/anonymity.py --full   also the whole lattice, to see that the optimum is one

Needs adult_arx.parquet and hierarchies_arx.parquet in ../shared/data or in the directory DISCREET_DATA names.
The best tool's figures (losses, and CPU seconds of its search alone) were measured once on the same table.
"""

import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

from discreet.anonymity import DistinctL, EntropyL, Hierarchy, KAnonymity, RecursiveCL, TCloseness, anonymise, losses
from discreet.anonymity.checker import Checker
from discreet.anonymity.encode import encode
from discreet.anonymity.incognito import incognito
from discreet.anonymity.search import optimal

EIGHT = ("sex", "age", "race", "marital_status", "education", "native_country", "workclass", "occupation")
BEST = {0.0: (0.590, 0.661, 0.661, 0.715), 0.05: (0.175, 0.262, 0.332, 0.487), 0.1: (0.160, 0.228, 0.281, 0.397)}
PEER = {0.0: (0.042, 0.035, 0.027, 0.019), 0.05: (0.55, 0.61, 0.57, 0.29), 0.1: (0.65, 0.71, 0.68, 0.47)}
KS = (2, 5, 10, 50)


def data():
    for place in (os.environ.get("DISCREET_DATA"), Path(__file__).parents[2] / "shared" / "data"):
        if place and (Path(place) / "adult_arx.parquet").exists():
            return Path(place)
    return None


def cpu(work):
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def trees(folder, names):
    long = pl.read_parquet(folder / "hierarchies_arx.parquet")
    return {name: Hierarchy.from_table(long, attribute=name) for name in names}


def checker(encoded, domain, criteria, share):
    return Checker(encoded, list(domain.values()), criteria, int(share * encoded.n + 1e-9))


def search(encoded, domain, k, share):
    judge = checker(encoded, domain, [KAnonymity(k)], share)
    return optimal(judge, losses.ncp(encoded.codes, encoded.weights, list(domain.values())))


def settings(encoded, domain):
    print(
        "optimal NCP, eight quasi-identifiers   loss (best known)   search CPU s (best tool's, ratio)   nodes of 6,480"
    )
    for share in BEST:
        for k, known, peer in zip(KS, BEST[share], PEER[share], strict=True):
            runs = [cpu(lambda k=k, share=share: search(encoded, domain, k, share)) for _ in range(3)]
            found, seconds = runs[0][0], min(s for _, s in runs)
            mark = "" if round(found.loss, 3) <= known else "  *** WORSE ***"
            ratio = seconds / peer
            print(
                f"  k = {k:2}, {share:4.0%} suppressed   {found.loss:.4f} ({known:.3f})   "
                f"{seconds:.3f} ({peer:.3f}, {ratio:.2f})   {found.searched}{mark}"
            )


def sensitive(folder):
    """The hierarchies with salary class in place of occupation; criteria on occupation and the best NCP known."""
    names = [name for name in EIGHT if name != "occupation"] + ["salary_class"]
    job = trees(folder, ["occupation"])["occupation"]
    return trees(folder, names), (
        (DistinctL(3), 0.180),
        (EntropyL(3), 0.226),
        (RecursiveCL(4, 3), 0.220),
        (TCloseness(0.2), 0.840),
        (TCloseness(0.2, job), 0.675),
    )


def models(frame, folder):
    domain, wanted = sensitive(folder)
    print("k = 5, 5%, occupation sensitive, salary class a quasi-identifier   NCP (best known)   CPU s, all included")
    for criterion, known in wanted:
        found, seconds = cpu(
            lambda c=criterion: anonymise(frame, domain, sensitive=["occupation"], k=5, criteria=[c], suppress=0.05)
        )
        mark = "" if round(found.loss, 3) <= known else "  *** WORSE ***"
        print(f"  {criterion}   {found.loss:.4f} ({known:.3f})   {seconds:.2f}{mark}")


def minimal(encoded, domain):
    judge = checker(encoded, domain, [KAnonymity(5)], 0.05)
    least, first = cpu(lambda: incognito(judge, losses.Discernibility()))
    best, second = cpu(lambda: optimal(checker(encoded, domain, [KAnonymity(5)], 0.05), losses.Discernibility()))
    print(
        f"discernibility, k = 5, 5%: best minimal node {least.loss:.3g} ({first:.1f} s), "
        f"optimum {best.loss:.3g} ({second:.1f} s)"
    )


def large(frame, domain):
    many = pl.concat([frame] * 100)
    found, seconds = cpu(lambda: anonymise(many, domain, k=500, suppress=0.05))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{len(many):,} rows, k = 500, 5%: NCP {found.loss:.4f}, "
        f"{seconds:.1f} s CPU with encoding and release, peak {peak:.2f} GB"
    )


def twelve(frame, folder):
    """Adult's nine and three more: an age band, and a region and a month drawn at random (the hardest kind)."""
    rng = np.random.default_rng(0)
    more = frame.with_columns(
        band=pl.col("age") // 7, region=rng.integers(0, 8, len(frame)), month=rng.integers(1, 13, len(frame))
    )
    domain = trees(folder, [*EIGHT, "salary_class"]) | {
        "band": Hierarchy.intervals(0, 14, 3, factors=()),
        "region": Hierarchy.ordered(range(8), sizes=(2, 4)),
        "month": Hierarchy.ordered(range(1, 13), sizes=(3, 6)),
    }
    nodes = np.prod([float(tree.height) for tree in domain.values()])
    for limit in (60.0, 5.0):
        found, seconds = cpu(lambda limit=limit: anonymise(more, domain, k=5, suppress=0.05, time_limit=limit))
        print(
            f"twelve quasi-identifiers, {nodes:,.0f} nodes, at most {limit:.0f} s: "
            f"NCP {found.loss:.4f}, {seconds:.1f} s CPU, "
            f"{found.searched} nodes looked at, {'the optimum' if found.complete else 'time ran out: best so far'}"
        )


def compare(title, encoded, domain, criteria, loss):
    """The best of all nodes, each judged by itself, and what the search finds."""
    judge, best = checker(encoded, domain, criteria, 0.05), np.inf
    for node in np.ndindex(*judge.heights):
        verdict = judge.judge(node)
        best = min(best, loss.of(node, verdict.groups) if verdict.feasible else np.inf)
    found = optimal(checker(encoded, domain, criteria, 0.05), loss)
    same = "the same" if best == found.loss else "*** DIFFERENT ***"
    print(f"  {title}: {best:.6g} of all nodes, {found.loss:.6g} found: {same}")


def full(frame, folder, encoded, domain):
    print("the whole lattice, k = 5, 5%")
    for name in losses.NAMES:
        loss = losses.named(name, encoded.codes, encoded.weights, list(domain.values()), 5)
        compare(name, encoded, domain, [KAnonymity(5)], loss)
    paid, wanted = sensitive(folder)
    coded = encode(frame, paid, ["occupation"])
    loss = losses.ncp(coded.codes, coded.weights, list(paid.values()))
    for criterion, _ in wanted:
        compare(f"ncp, {criterion}", coded, paid, [KAnonymity(5), criterion], loss)


def main():
    folder = data()
    if folder is None:
        print("The table Adult is not here. Set DISCREET_DATA to a directory with adult_arx.parquet.")
        return
    frame, domain = pl.read_parquet(folder / "adult_arx.parquet"), trees(folder, EIGHT)
    encoded, seconds = cpu(lambda: encode(frame, domain))
    print(f"encoding {len(frame):,} rows: {seconds:.3f} s CPU, {len(encoded.weights):,} distinct tuples")
    settings(encoded, domain)
    models(frame, folder)
    minimal(encoded, domain)
    if "--full" in sys.argv:
        full(frame, folder, encoded, domain)
    large(frame, domain)
    twelve(frame, folder)


if __name__ == "__main__":
    main()
