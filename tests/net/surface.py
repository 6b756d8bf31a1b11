"""What others rely on: the names in every `__all__`, the signatures behind them, and all help pages."""

import functools
import importlib
import inspect
import pkgutil
import re

import typer
from typer.testing import CliRunner

import discreet
from discreet.cli import app


def modules():
    """Every module of the package that can be imported."""
    for info in pkgutil.walk_packages(discreet.__path__, "discreet."):
        if not info.name.endswith("__main__"):
            yield info.name, importlib.import_module(info.name)


def names():
    """The `__all__` of every package and of the modules that have one."""
    found = {"discreet": sorted(discreet.__all__)}
    return found | {name: sorted(module.__all__) for name, module in modules() if hasattr(module, "__all__")}


def signatures():
    """The signature of every public function and class, and of the public methods of classes."""
    found = {}
    for home, public in names().items():
        module = importlib.import_module(home)
        for name in public:
            value = getattr(module, name)
            if inspect.ismodule(value) or not callable(value):
                continue
            found[f"{home}.{name}"] = signature(value)
            if isinstance(value, type):
                members = inspect.getmembers(value, inspect.isroutine)
                own = [(one, method) for one, method in members if not one.startswith("_")]
                ours = [(one, method) for one, method in own if is_ours(method)]
                found |= {f"{home}.{name}.{one}": signature(method) for one, method in ours}
    return found


def is_ours(method):
    return (getattr(method, "__module__", None) or "").split(".")[0] == "discreet"


def signature(value):
    """Names, kinds and defaults of parameters; types are documentation."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return "unknown"
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in parameters]
    text = str(inspect.Signature(plain, __validate_parameters__=False))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def verbs(command, path=()):
    """The words that call each verb and each family of verbs."""
    yield path
    for name, one in getattr(command, "commands", {}).items():
        yield from verbs(one, (*path, name))


@functools.cache
def help_pages():
    """What `--help` prints of each verb, 80 columns wide: rendered once, for all tests that look at it."""
    runner = CliRunner(env={"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"})
    found = {}
    for path in verbs(typer.main.get_command(app)):
        result = runner.invoke(app, [*path, "--help"])
        assert result.exit_code == 0, path
        found[" ".join(path)] = [line.rstrip() for line in result.output.splitlines()]
    return found
