"""How long the command line takes to start: `discreet --help`, beside Python alone and `import discreet`.

python benchmarks/cli.py [repeats]
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python alone": ["-c", "pass"],
    "import discreet": ["-c", "import discreet"],
    "discreet --help": ["-m", "discreet.cli", "--help"],
    "discreet fit --help": ["-m", "discreet.cli", "fit", "--help"],
}


def measured(arguments: list[str], repeats: int) -> tuple[float, float]:
    """Median seconds by the clock, and of work, of a process."""
    clock, work = [], []
    for _ in range(repeats):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        clock.append(time.perf_counter() - start)
        work.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(clock), statistics.median(work)


def main(repeats: int) -> None:
    """Print a line per command."""
    print("| command | seconds by the clock | seconds of work |\n| --- | --- | --- |")
    for name, arguments in COMMANDS.items():
        clock, work = measured(arguments, repeats)
        print(f"| {name} | {clock:.2f} | {work:.2f} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
