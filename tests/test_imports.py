"""Imports go one way, and `import discreet` is light."""

import ast
import subprocess
import sys
from pathlib import Path

import discreet

ROOT = Path(discreet.__file__).parent

# Each tier may import from itself and from those before it.
TIERS = (
    (
        "errors",
        "arguments",
        "atomic",
        "progress",
        "events",
        "bounds",
        "budget",
        "batch",
        "lattice",
        "totals",
        "query",
        "images",
        "powers",
        "release",
        "labels",
        "names",
        "documents",
    ),
    ("engines", "mechanisms", "accounting", "stores", "anonymity", "pseudonyms"),
    (
        "currency",
        "ledger",
        "reading",
        "prices",
        "noise",
        "retry",
        "lipschitz",
        "inside",
        "curator",
        "ranges",
        "ranks",
        "classes",
        "task",
        "session",
        "datasets",
        "preprocessing",
        "features",
    ),
    ("stats", "models", "local", "audit"),
    ("checks", "evaluate", "plots"),
    ("studies",),
    ("cli",),
)
APART = (("engines", "mechanisms"), ("engines", "accounting"), ("mechanisms", "accounting"), ("stats", "models"))
TIER = {name: height for height, names in enumerate(TIERS) for name in names}


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts != ("__init__",):
            yield parts[0], path


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("discreet"):
            inner = node.module.split(".")[1:]
            yield from [inner[0]] if inner else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("discreet."))


def test_every_module_has_a_tier():
    assert {name for name, _ in modules()} == set(TIER)


def test_imports_go_one_way():
    for name, path in modules():
        for other in imports(path):
            assert TIER[other] <= TIER[name], f"{path.relative_to(ROOT)} imports {other}"


def test_siblings_know_nothing_of_each_other():
    for name, path in modules():
        for other in imports(path):
            assert (name, other) not in APART and (other, name) not in APART, f"{path.relative_to(ROOT)}: {other}"


def test_engines_import_nothing_private():
    allowed = {"query", "budget", "labels", "engines", "errors", "progress"}
    for name, path in modules():
        if name == "engines":
            assert set(imports(path)) <= allowed, path


def test_anonymity_knows_nothing_of_private_release():
    for name, path in modules():
        if name == "anonymity":
            assert set(imports(path)) <= {"anonymity", "errors", "arguments", "atomic"}, path


def test_pseudonyms_know_nothing_of_private_release():
    for name, path in modules():
        if name == "pseudonyms":
            assert set(imports(path)) <= {
                "pseudonyms",
                "anonymity",
                "engines",
                "errors",
                "arguments",
                "atomic",
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
