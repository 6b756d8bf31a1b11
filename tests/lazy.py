"""Packages that are imported when a test first uses them: every worker imports every file of tests."""

import importlib


class Lazy:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        return getattr(importlib.import_module(self._name), attribute)


pd = Lazy("pandas")
