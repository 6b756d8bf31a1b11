"""How long tests take: what a run of them took is written down, and the longest go first, so that workers end together.

`make durations` runs all tests and writes durations.json: the seconds of processor time of each file, with those of
processes that it started and waited for, and of its longest test.
"""

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

RECORD = Path(__file__).with_suffix(".json")
UNKNOWN = 1.0  # seconds of a file that is not in the record
WORD = "seconds of processor time"


def file_of(nodeid):
    return nodeid.partition("::")[0].partition("@")[0]


def longest_first(items):
    """Files with the longest tests first; within a file the order stays, so that what it shares is made once."""
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    items.sort(key=lambda item: -known.get(file_of(item.nodeid), {}).get("longest", UNKNOWN))


def spent():
    """Seconds of processor time of this process and of those it has waited for."""
    return sum(os.times()[:4])


class Durations:
    """Adds to each report what its test took, in whichever process; and writes down the sums in the end."""

    def __init__(self, path):
        self.path, self.start, self.seconds = path, 0.0, defaultdict(dict)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self):
        self.start = spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        if call.when == "teardown":
            item.user_properties.append((WORD, spent() - self.start))
        return (yield)

    def pytest_runtest_logreport(self, report):
        if report.when == "teardown":
            self.seconds[file_of(report.nodeid)][report.nodeid] = dict(report.user_properties)[WORD]

    def pytest_sessionfinish(self, session):
        if hasattr(session.config, "workerinput"):
            return  # one process writes for all
        found = {
            file: {"all": round(sum(tests.values()), 1), "longest": round(max(tests.values()), 1)}
            for file, tests in sorted(self.seconds.items())
        }
        Path(self.path).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        details = os.environ.get("DISCREET_TEST_DURATIONS_OF_ALL")
        if details:
            every = {name: round(seconds, 2) for tests in self.seconds.values() for name, seconds in tests.items()}
            Path(details).write_text(json.dumps(every, indent=0), encoding="utf-8")
