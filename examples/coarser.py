"""Make a table coarser until nobody stands alone in it, and try to find them again.

    python examples/coarser.py

It takes a second or two, and writes output/coarser.html, a page for a data-protection officer. The rows are invented.
Anonymity is not differential privacy: docs/anonymity.md says what it does not give.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from discreet.anonymity import Hierarchy, anonymise, homogeneity_attack, linkage_attack, risk

ILLNESSES = ["flu", "asthma", "cold", "gout", "angina"]


def people(n: int = 500, seed: int = 0) -> dict[str, list[object]]:
    """Ages, postcodes, sexes and illnesses of nobody."""
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(18, 90, n).tolist(),
        "zip": rng.choice([f"101{i:02d}" for i in range(20)], n).tolist(),
        "sex": rng.choice(["f", "m"], n).tolist(),
        "illness": rng.choice(ILLNESSES, n).tolist(),
    }


def main(folder: Path = Path("output")) -> Path:
    """Measure, make coarser, attack, report."""
    table = people()
    quasi = ["age", "zip", "sex"]
    print(risk(table, quasi))

    trees = {
        "age": Hierarchy.intervals(0, 99, width=5, factors=(2, 2)),
        "zip": Hierarchy.prefix([f"{z:05d}" for z in range(10_000, 11_000)]),
        "sex": Hierarchy.flat(["f", "m"]),
    }
    result = anonymise(table, trees, sensitive=["illness"], k=5, l=2, suppress=0.02)
    print(
        f"\nlevels {result.levels}, {result.suppressed:.1%} of the rows left out, smallest class {min(result.classes)}"
    )
    print(result.table.head(3))

    register = {"name": [f"person {i}" for i in range(len(table["age"]))], **{name: table[name] for name in quasi}}
    for label, published in (("as it was", table), ("made coarser", result.table)):
        print(f"{label:13} {linkage_attack(published, register, on=quasi)}")
    print(f"illnesses given away by their class: {homogeneity_attack(result.table, quasi, 'illness').disclosed}")

    folder.mkdir(exist_ok=True)
    path = folder / "coarser.html"
    result.report(original=table).save(path)
    print(f"\n{path}")
    return path


if __name__ == "__main__":
    main()
