"""Stamp proofs: `python -m discreet.mechanisms.proofs [file ...] [--renamed old=new ...] [--moved old=new ...]`.

Without names, every stale proof is stamped with the code as it is: read it first. With names, only what is the same up
to them is stamped, and what is not is listed.
"""

import argparse
from pathlib import Path

from discreet.mechanisms.proofs import HERE, follow, restamp


def _pair(text: str) -> tuple[str, str]:
    old, _, new = text.partition("=")
    return old, new


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--renamed", nargs="*", type=_pair, default=[], metavar="old=new")
    parser.add_argument("--moved", nargs="*", type=_pair, default=[], metavar="old=new")
    given = parser.parse_args()
    for proof in given.files or sorted(HERE.glob("*.md")):
        if given.renamed or given.moved:
            same, other = follow(proof, dict(given.renamed), dict(given.moved))
            for name in same:
                print(f"{proof.name}: {name} stamped, the same up to names")
            for name in other:
                print(f"{proof.name}: {name} CHANGED: read the proof again")
        else:
            for name in restamp(proof):
                print(f"{proof.name}: {name} stamped")
