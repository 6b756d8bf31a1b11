"""Stamp every proof with the code as it is: `python -m discreet.mechanisms.proofs [file ...]`."""

import sys
from pathlib import Path

from discreet.mechanisms.proofs import HERE, restamp

if __name__ == "__main__":
    for proof in [Path(name) for name in sys.argv[1:]] or sorted(HERE.glob("*.md")):
        for name in restamp(proof):
            print(f"{proof.name}: {name} stamped")
