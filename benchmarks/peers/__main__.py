"""This library beside others that anyone can install, at the same ε on the same rows.

    python benchmarks/peers [--quick]

The others are installed into an environment of their own, .venv-peers, once. Errors: less is better; R² and accuracy:
more is. `time` is our processor time as a part of theirs. Every library is used as its documentation says, with
bounds and the number of rows public; their defaults are not tuned, nor are ours.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
HOME = HERE.parents[1] / ".venv-peers"
NEEDS = HERE / "requirements.txt"


def environment() -> Path:
    """The others' Python; installed where it is missing or its list has changed."""
    python, stamp = HOME / "bin" / "python", HOME / "installed.txt"
    if not stamp.is_file() or stamp.read_text() != NEEDS.read_text():
        print("installing the others ...", file=sys.stderr)
        venv.create(HOME, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", NEEDS], check=True)
        stamp.write_text(NEEDS.read_text())
    return python


def scores(python: Path | str, script: str) -> list[dict[str, Any]]:
    """What a script found, in an environment."""
    command = [python, HERE / script, *sys.argv[1:]]
    found: list[dict[str, Any]] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def against(task: str, ours: float, theirs: float) -> str:
    """Errors as a ratio, scores as a difference; a score below -1 is as good as none."""
    if "R²" in task or "accuracy" in task:
        return f"{ours - max(theirs, -1.0):+.3f}"
    return f"{ours / theirs:.2f} times" if theirs else "they have none"


def main() -> None:
    try:
        theirs = scores(environment(), "theirs.py")
    except (subprocess.CalledProcessError, OSError) as error:
        sys.exit(f"The other libraries could not be installed or run: {error}")
    ours = {(row["task"], row["epsilon"]): row for row in scores(sys.executable, "ours.py")}
    print("| task | ε | discreet | the other | which | ours against theirs | time, ours / theirs |\n|" + " --- |" * 7)
    for row in sorted(theirs, key=lambda row: (row["task"], row["library"], row["epsilon"])):
        own = ours[row["task"], row["epsilon"]]
        print(
            f"| {row['task']} | {row['epsilon']:g} | {own['score']:.3g} | {row['score']:.3g} | {row['library']} "
            f"| {against(row['task'], own['score'], row['score'])} | {own['seconds'] / row['seconds']:.2f} |"
        )


if __name__ == "__main__":
    main()
