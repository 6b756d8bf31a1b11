"""Imports go one way, and `import discreet` is light."""

import ast
import subprocess
import sys
from pathlib import Path

import discreet

ROOT = Path(discreet.__file__).parent

# Each tier may import from itself and from those before it. A module belongs to its longest name here.
TIERS = (
    ("errors", "arguments", "progress", "events", "bounds", "labels", "documents"),
    ("budget", "release"),
    ("query",),
    ("engines", "mechanisms", "accounting", "anonymity", "pseudonyms"),
    ("budget.plan_costs", "ledger"),
    ("curator", "datasets", "preprocessing", "features"),
    ("stats", "models", "local", "audit"),
    ("checks", "evaluate", "plots"),
    ("studies",),
    ("cli",),
)
APART = (("engines", "mechanisms"), ("engines", "accounting"), ("mechanisms", "accounting"), ("stats", "models"))
TIER = {name: height for height, names in enumerate(TIERS) for name in names}


def tier_of(module):
    """The height of the tier of a module, named without `discreet.`."""
    while module not in TIER:
        module, dot, _ = module.rpartition(".")
        assert dot, "no tier"
    return TIER[module]


def modules():
    """The first name, the whole name and the file of every module."""
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts != ("__init__",):
            yield parts[0], ".".join(parts), path


def imported_modules(path):
    """What a file imports of discreet, lazily too: names of modules, without `discreet.`, and of what is in them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "discreet":
            inner = node.module.partition(".")[2]
            for alias in node.names:
                whole = f"{inner}.{alias.name}".strip(".")
                yield whole if is_module(whole) else inner
        elif isinstance(node, ast.Import):
            yield from (a.name.partition(".")[2] for a in node.names if a.name.startswith("discreet."))


def is_module(name):
    place = ROOT.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").exists()


def imports(path):
    return {name.split(".")[0] for name in imported_modules(path)} - {""}


def test_every_module_has_a_tier():
    assert {name for name, _, _ in modules()} == {name.split(".")[0] for name in TIER}


def test_imports_go_one_way():
    for _, name, path in modules():
        for other in filter(None, imported_modules(path)):
            assert tier_of(other) <= tier_of(name), f"{path.relative_to(ROOT)} imports {other}"


def test_siblings_know_nothing_of_each_other():
    for name, _, path in modules():
        for other in imports(path):
            assert (name, other) not in APART and (other, name) not in APART, f"{path.relative_to(ROOT)}: {other}"


def test_engines_import_nothing_private():
    allowed = {"query", "labels", "engines", "errors", "progress"}
    for name, _, path in modules():
        if name == "engines":
            assert set(imports(path)) <= allowed, path


def test_anonymity_knows_nothing_of_private_release():
    for name, _, path in modules():
        if name == "anonymity":
            assert set(imports(path)) <= {"anonymity", "errors", "arguments", "documents"}, path


def test_pseudonyms_know_nothing_of_private_release():
    for name, _, path in modules():
        if name == "pseudonyms":
            assert set(imports(path)) <= {
                "pseudonyms",
                "anonymity",
                "engines",
                "errors",
                "arguments",
                "documents",
                "progress",
            }, path


def test_a_device_needs_no_numpy():
    """What runs on a person's device imports nothing but the standard library."""
    code = (
        "import sys; from discreet.local import Device, Report, Survey; "
        "print([m for m in ('numpy', 'cryptography') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


HEAVY = ("sklearn", "scipy", "matplotlib", "pandas", "polars", "rich", "dp_accounting", "mpmath")


def test_importing_discreet_is_light():
    code = (
        f"import sys, discreet as dc; dc.Bounds(0, 1); dc.Budget(1.0); print([m for m in {HEAVY} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_public_names():
    from discreet.accounting import delta, epsilon, noise_multiplier
    from discreet.audit import audit
    from discreet.checks import check_private_estimator
    from discreet.events import Gaussian, Laplace
    from discreet.mechanisms.samplers import discrete_gaussian, discrete_laplace
    from discreet.models import LinearRegression
    from discreet.stats import count, covariance, histogram, mean, median, quantile, sum, variance

    for name in discreet.__all__:
        assert getattr(discreet, name) is not None
    assert callable(audit) and callable(check_private_estimator)
    assert all(map(callable, (count, covariance, histogram, mean, median, quantile, sum, variance)))
    assert epsilon(Gaussian(2.0)) > 0 and 0 < delta(Laplace(0.5), epsilon=1) < 1 and noise_multiplier(1, 1e-5) > 1
    assert discrete_laplace(3.0, 5).dtype == discrete_gaussian(3.0, 5).dtype == "int64"
    assert LinearRegression().get_params()["neighbours"] == "add-remove"


def test_files_of_tests_import_heavy_packages_when_a_test_needs_them():
    """Every worker imports every file: at the top of one, there is none of these."""
    heavy = {"pyspark", "pandas", "opendp", "dp_accounting", "duckdb", "sqlalchemy"}
    for path in Path(__file__).parent.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not heavy & {name.partition(".")[0] for name in names}, path.name
