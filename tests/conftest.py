"""What passes here passes everywhere: the same examples every time, and the same noise.

Property tests try the same examples. Private noise, which no seed can fix, is keyed by the name of the test that draws
it, or of the fixture where several tests share one: it is the same in any order and in any process of pytest. Other
noise is tried with another word in DISCREET_TEST_NOISE, and that can be repeated too. Processes that a test starts have
noise of the operating system.
"""

import hashlib
import os

import pytest
from hypothesis import settings

from discreet.mechanisms import keystream

settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")
WORD = os.environ.get("DISCREET_TEST_NOISE", "")


def keyed(name):
    """Let the shared keystream depend on a name alone; it still counts as secure."""
    keystream.default()._key(hashlib.sha256(f"{WORD}\0{name}".encode()).digest())


class Noise:
    """Keys the noise of all that is collected: tests, and doctests beside the code and in the docs."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        keyed(f"{item.parent.nodeid}::{item.name}")  # not its own nodeid: xdist may add a group to it

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
    config.pluginmanager.register(Noise(), "noise keyed by name")
