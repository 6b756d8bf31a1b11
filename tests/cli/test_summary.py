"""What `describe` says: what is counted, and how far each number may be off."""

import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from discreet.cli.summary import OTHERS, Summary, told
from discreet.events import Gaussian, Laplace, Pure
from discreet.stats.description import Categories, Description, Numbers

ROWS = {"patient": [f"p{i // 3}" for i in range(3000)], "age": [50.0] * 3000, "ward": ["north"] * 3000}
FACTS = """
[data]
path = "visits.csv"
unit = "patient"
{limit}
[columns.patient]
kind = "skip"
[columns.age]
kind = "number"
low = 0
high = 100
[columns.ward]
kind = "category"
values = ["north", "south"]
[budget]
epsilon = 90.0
delta = 1e-6
"""


@pytest.mark.parametrize(
    ("limit", "what", "many", "words"),
    [
        ("", "units", 1000, "units (patient)"),
        ("max_rows_per_unit = 4", "rows", 3000, "rows (at most 4 of each patient)"),
        ("max_rows_per_unit = 2", "rows", 2000, "rows (at most 2 of each patient)"),
    ],
)
def test_rows_are_not_called_units(run, limit, what, many, words):
    """At ε = 80 the noise of a count is below 10 with probability 1 - 1e-6."""
    pl.DataFrame(ROWS).write_csv("visits.csv")
    (run.folder / "privacy.toml").write_text(FACTS.format(limit=limit))
    result = run("describe", "visits.csv", "-e", "80", "-o", "v.html")
    assert result.exit_code == 0, result.output
    for text in (result.stdout, (run.folder / "v.html").read_text()):
        assert words in " ".join(text.split())
        assert f"About {many:,} " in text or abs(counted(text) - many) < 10
    found = json.loads(run("describe", "visits.csv", "-e", "80", "--json").stdout)["count"]
    assert found["of"] == what and found["unit"] == "patient" and abs(found["value"] - many) < 10


def counted(text):
    return int(text.split("About ")[1].split()[0].replace(",", ""))


def test_every_number_has_its_interval(table):
    result = table("describe", "visits.csv", "-e", "2", "--columns", "age,ill", "-o", "v.html", "--json")
    found = json.loads(result.stdout)["columns"]
    page = (table.folder / "v.html").read_text()
    assert page.count("<br><small>") == 4  # a mean and three quartiles
    assert f"<td>{OTHERS}</td>" in page and f"<td>{OTHERS}</td><td></td>" not in page
    value, (low, high) = found["ill"]["other"]["value"], found["ill"]["other"]["interval"]
    assert low <= value <= high and high > 0
    shown, _, _ = table("describe", "visits.csv", "-e", "2", "--columns", "age,ill").stdout.partition("Receipt")
    assert shown.count(" to ") == 1 + 2 + 3  # the count; mean and median; two values and the others
    assert max(map(len, shown.splitlines())) <= 80


def specimen(counts, std, event):
    release = SimpleNamespace(unit="row", event=event)
    wards = Categories("ward", ("a", "b"), np.array(counts), (np.zeros(2), np.zeros(2)), std)
    return Summary(Description(1000.0, (990.0, 1010.0), (wards,), 0.95, release, 10.0)), wards


def test_others_have_the_noise_of_the_count_and_of_each_cell():
    """Gaussian: √(10² + 2·20²) = 30, so 1.96 × 30 to either side of what is left, and no less than nobody."""
    summary, wards = specimen([500.0, 300.0], 20.0, Gaussian(1.0))
    value, (low, high) = summary.others(wards)
    assert value == 200 and (low, high) == pytest.approx((200 - 58.8, 200 + 58.8), abs=0.01)
    summary, wards = specimen([600.0, 430.0], 20.0, Gaussian(1.0))
    assert summary.others(wards) == (0.0, (0.0, pytest.approx(28.8, abs=0.01)))


def test_others_under_laplace_noise():
    """The interval holds in 95% of 4,000 draws; five standard errors of that share are 0.018."""
    rng, held = np.random.default_rng(1), 0
    summary, wards = specimen([0.0, 0.0], 20.0, Laplace(1.0))
    half = (summary.others(wards)[1][1] - summary.others(wards)[1][0]) / 2
    errors = rng.laplace(0, 10 / np.sqrt(2), 4000) + rng.laplace(0, 20 / np.sqrt(2), (2, 4000)).sum(axis=0)
    held = np.mean(np.abs(errors) <= half)
    assert 0.932 < held < 0.968


@pytest.mark.parametrize("e", [0.5, 4.0, 8.0])
def test_others_under_whole_noise(e):
    """Of 20,000 draws at least 95% are within, less five standard errors of that share, 0.0077."""
    rng, p = np.random.default_rng(2), np.exp(-e / np.array([2.0, 1.0, 1.0]))
    std = np.sqrt(2 * p) / (1 - p)
    wards = Categories("ward", ("a", "b"), np.array([300.0, 200.0]), (np.zeros(2), np.zeros(2)), std[1])
    found = Description(1000.0, (0, 0), (wards,), 0.95, SimpleNamespace(unit="row", event=Pure(e)), std[0])
    value, (low, high) = Summary(found).others(wards)
    noise = rng.geometric(1 - p, (20_000, 3)) - rng.geometric(1 - p, (20_000, 3))
    assert value == 500 and np.mean(np.abs(noise.sum(axis=1)) <= high - value) > 0.95 - 0.0077
    assert low % 1 == high % 1 == 0


def test_digits_are_no_finer_than_the_interval():
    ends = ((12187.5, 60000.0), (12187.5, 60000.0), (30000.0, 34000.0))
    one = Numbers("cost", 31970.4, (31961.3, 31979.9), (31970.4,) * 3, ends, np.arange(3.0), np.zeros(2), 1.0)
    mean, *quartiles = told(one)
    assert mean == ("31,970", "31,960 to 31,980") and quartiles[0] == ("32,000", "12,000 to 60,000")
    assert quartiles[2] == ("32,000", "30,000 to 34,000")
