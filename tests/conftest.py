"""What passes here passes everywhere: the same examples every time, the same noise, nothing left behind.

Property tests try the same examples. Private noise, which no seed can fix, is keyed by the name of the test that draws
it, or of the fixture where several tests share one: it is the same in any order and in any process of pytest. Other
noise is tried with another word in DISCREET_TEST_NOISE, and that can be repeated too. Processes that a test starts have
noise of the operating system. Figures are closed after each test: pyplot counts those left open. Another order of the
tests is tried with a word in DISCREET_TEST_ORDER.
"""

import hashlib
import os
import sys

import pytest
from hypothesis import settings

from discreet.mechanisms import keystream

from .durations import Durations, longest_first

settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")
NOISE = os.environ.get("DISCREET_TEST_NOISE", "")
ORDER = os.environ.get("DISCREET_TEST_ORDER", "")


def digest(word, name):
    return hashlib.sha256(f"{word}\0{name}".encode()).digest()


def keyed(name):
    """Let the shared keystream depend on a name alone; it still counts as secure."""
    keystream.default()._key(digest(NOISE, name))


class Alike:
    """For all that is collected: tests, and doctests beside the code and in the docs, which are not below this file."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        longest_first(items)
        if ORDER:  # files in another order, and within each its tests; what a file shares is still made once
            items.sort(key=lambda item: (digest(ORDER, item.nodeid.split("::")[0]), digest(ORDER, item.nodeid)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        keyed(f"{item.parent.nodeid}::{item.name}")  # not its own nodeid: xdist may add a group to it

    def pytest_runtest_teardown(self):
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close("all")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        if fixturedef.scope == "function":
            return (yield)
        # a shared fixture is made in whichever test comes first: that one goes on where it was
        stream = vars(keystream.default())
        before = dict(stream)
        keyed(f"{fixturedef.baseid}::{fixturedef.argname}[{getattr(request, 'param_index', 0)}]")
        try:
            return (yield)
        finally:
            stream.update(before)


def pytest_configure(config):
    config.pluginmanager.register(Alike(), "alike everywhere")
    if path := os.environ.get("DISCREET_TEST_DURATIONS"):
        config.pluginmanager.register(Durations(path), "durations")
