"""The site has a page for every public name, every page a place, and small figures; shell lines of the tour run."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import discreet
from discreet.datasets import save

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
HOME = Path(discreet.__file__).parent
AUTHORS = {
    "budget",
    "curator",
    "documents",
    "ledger",
    "query",
}  # rooms of those who write methods: the page of nouns shows some
PACKAGES = ["datasets", *sorted({path.parent.name for path in HOME.glob("*/__init__.py")} - AUTHORS)]
REFERENCE = set(
    re.findall(r"^::: (discreet[\w.]*)", "\n".join(p.read_text("utf-8") for p in DOCS.glob("api/*.md")), re.M)
)


def public(name):
    """Each public name of a package, and the modules that have it as their own."""
    package = import_module(name)
    for member in getattr(package, "__all__", ()):
        parts = getattr(getattr(package, member), "__module__", name).split(".")
        homes = {
            ".".join(parts[:depth]) for depth in range(2, len(parts) + 1)
        }  # packages re-export what their modules have
        yield member, {f"{home}.{member}" for home in {name, *homes}}


def documented(member, paths):
    """By itself, or with the module it comes from."""
    owners = {path.rpartition(".")[0] for path in paths} - {"discreet"}
    return (paths | owners) & REFERENCE or any(name.startswith(f"discreet.{member}.") for name in REFERENCE)


def test_every_public_name_is_in_the_reference():
    names = [(name, *found) for name in ("discreet", *(f"discreet.{p}" for p in PACKAGES)) for found in public(name)]
    assert len(names) > 150
    assert [f"{name}.{member}" for name, member, paths in names if not documented(member, paths)] == []


def test_the_reference_names_what_exists():
    """Every `::: name` leads to something."""
    for name in REFERENCE:
        module, _, member = name.rpartition(".")
        found = hasattr(import_module(module), member) if module else True
        assert found or import_module(name)


def nav():
    """The pages named in mkdocs.yml."""
    return set(re.findall(r"[\w/-]+\.md$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.M))


def test_every_page_has_a_place():
    assert nav() == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}


def test_links_between_pages_lead_somewhere():
    for page in [*DOCS.rglob("*.md"), ROOT / "README.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_first_thing_said_is_the_rule():
    """On the first page, and in README."""
    for page in (DOCS / "index.md", ROOT / "README.md"):
        assert "**The one rule: a private answer is a clipped sum plus exact noise" in page.read_text("utf-8")[:800]


def test_figures_are_small_and_shown():
    pages = "\n".join(path.read_text("utf-8") for path in DOCS.glob("*.md"))
    for figure in (DOCS / "figures").glob("*"):
        assert figure.stat().st_size < 60_000, figure.name
        assert f"figures/{figure.name}" in pages, figure.name


def test_comments_stay_on_the_line_of_their_code():
    """A page has room for a hundred characters of code: a comment that ends beyond goes on as if it were code."""
    found = {
        f"{page.name}: {line}"
        for page in DOCS.glob("*.md")
        for block in re.findall(r"^```pycon\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
        for line in block.splitlines()
        if len(line) > 98 and re.match(r"(>>>|\.\.\.).*\S {2,}# (?!doctest)", line)
    }
    assert found == set()


def test_search_works_from_disk_without_the_net():
    """The plugin's own helper is fetched from elsewhere: ours is in the site, by a name that the plugin knows."""
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert "\n  - offline\n" in settings and "    - iframe-worker.js\n" in settings
    assert 'location.protocol === "file:"' in (DOCS / "iframe-worker.js").read_text("utf-8")


# -- the tour, as one would paste it -----------------------------------------------------------------------------------

SETTING_UP = ("pip ", "make ", "git ", "cd ", "python -m venv", ". .venv", "source ")  # not run: it installs


def lines(page):
    """The shell lines of a page that do not install anything."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    return [line for block in blocks for line in block.splitlines() if line and not line.startswith(SETTING_UP)]


@pytest.fixture
def shell(tmp_path):
    """A folder and a way to run a line in it, where `python` and `discreet` are those under test."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, what in {"python": "", "discreet": " -m discreet.cli"}.items():
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -W error::FutureWarning{what} "$@"\n')
        (tools / name).chmod(0o755)
    folder = tmp_path / "here"
    folder.mkdir()
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONIOENCODING": "utf-8", "COLUMNS": "120"}

    def run(line):
        return subprocess.run(line, shell=True, cwd=folder, env=environment, capture_output=True, text=True)

    run.folder = folder
    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_the_tour_can_be_pasted(name, shell):
    """Line by line, in an empty folder: each does what it says, and the outputs it names are there."""
    pasted = lines(ROOT / name)
    assert sum(line.startswith("discreet ") for line in pasted) >= 3
    for line in pasted:
        done = shell(line)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        assert done.stdout or ">" in line, line
        for output in re.findall(r" -o (\S+)", line):
            assert (shell.folder / output).stat().st_size > 10


def test_bundled_data_are_not_written_over(tmp_path):
    table, facts = save(tmp_path, n=10)
    assert len(table.read_text("utf-8").splitlines()) == 11 and "high = 60000.0" in facts.read_text("utf-8")
    table.unlink()
    with pytest.raises(FileExistsError, match="Nothing was written"):
        save(tmp_path, n=10)
    assert not table.exists()
