"""Makes the oracles importable as a fixture (tests are imported without a package)."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def oracles():
    spec = importlib.util.spec_from_file_location("accounting_oracles", Path(__file__).with_name("oracles.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
