"""Write down what seeded runs leave and what is public: `python tests/net/record.py [results] [surface]`.

A change that is meant to change nothing reproduces both files. Where a change is meant, record it in a commit of its
own that says what is different.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import specimens
import surface

HERE = Path(__file__).parent


def results():
    memory, parquet = {}, {}
    for name, specimen in specimens.specimens().items():
        memory[name] = specimens.outcome(specimen)
        with tempfile.TemporaryDirectory() as folder:
            rows = specimens.in_parquet(specimen, Path(folder) / "rows.parquet")
            if rows is not None:
                found = specimens.outcome(specimen, rows)
                parquet[name] = "as in memory" if found == memory[name] else found
    return {"arithmetic": specimens.arithmetic(), "memory": memory, "parquet": parquet}


def public():
    return {"names": surface.names(), "signatures": surface.signatures(), "help": surface.help_pages()}


FILES = {"results": results, "surface": public}

if __name__ == "__main__":
    for name in sys.argv[1:] or FILES:
        path = HERE / f"{name}.json"
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        after = FILES[name]()
        path.write_text(json.dumps(after, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{path.name}: {'as before' if after == before else 'CHANGED'}")
