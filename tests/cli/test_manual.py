"""The help of every verb: an example that can be pasted, and flags that want no value."""

import re

import pytest
import typer

from discreet.cli import app

from ..net.surface import help_pages

HELP = pytest.mark.xdist_group("help")  # one process renders all pages


def verbs(command, path=()):
    """All verbs and families, with the words that call them."""
    for name, one in getattr(command, "commands", {}).items():
        yield (*path, name), one
        yield from verbs(one, (*path, name))


VERBS = {" ".join(path): one.help or "" for path, one in verbs(typer.main.get_command(app))}


def examples(text):
    """Indented lines of a docstring, or those between fences."""
    if "```" in text:
        return [line for line in text.split("```")[1].splitlines() if line.strip()]
    found = re.findall(r"(?m)^( +)(.*)$", text)
    margin = min((len(indent) for indent, line in found if line.startswith("discreet")), default=0)
    return [(indent + line)[margin:] for indent, line in found]


@HELP
@pytest.mark.parametrize("verb", VERBS)
def test_examples_are_lines_of_their_own(verb):
    wanted = examples(VERBS[verb])
    assert wanted and any(line.startswith(f"discreet {verb}") for line in wanted), VERBS[verb]
    shown = help_pages()[verb]
    for line in wanted:
        assert any(one.removeprefix("  ") == line.rstrip() for one in shown), (line, shown)


@pytest.mark.parametrize("verb", VERBS)
def test_examples_that_go_on_say_so(verb):
    """A line that does not begin with the command belongs to one that ends in a backslash."""
    wanted = examples(VERBS[verb])
    for before, line in zip(["", *wanted], wanted, strict=False):
        assert line.startswith("discreet ") != before.endswith("\\"), wanted


@HELP
@pytest.mark.parametrize("verb", VERBS)
def test_flags_want_no_value(verb):
    assert "<bool>" not in "\n".join(help_pages()[verb])


@HELP
@pytest.mark.parametrize(
    "verb",
    ["init", "describe", "fit", "predict", "frontier", "audit", "study", "anonymise", "risk"]
    + [f"ledger {one}" for one in ("show", "explain", "export")],
)
def test_every_help_has_an_example(verb):
    assert f"discreet {verb} " in "\n".join(help_pages()[verb])
