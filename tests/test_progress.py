"""Bars: the share of the work that is done; nothing where nobody watches, and never a number of rows."""

import gzip

import polars as pl
import pytest

from discreet import progress, scan_csv, scan_parquet
from discreet.engines.stream.csv import BLOCK
from discreet.progress import Bar
from discreet.query import BoundedSum

COUNT = BoundedSum(lambda rows: rows.X * 0 + 1.0, norm=1)


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(progress, "is_interactive", lambda: True)


def test_csv_by_its_bytes_and_then_by_its_rows(tmp_path):
    """Two and a half blocks: the share rises with each, and ends at one; by rows where their number is known."""
    line = "1234567\n"
    (tmp_path / "a.csv").write_text("a\n" + line * (5 * BLOCK // 2 // len(line)))
    shares = []
    rows = scan_csv(tmp_path / "a.csv", types={"a": "number"}, progress=shares.append)
    for _ in range(2):
        shares.clear()
        rows.sum(COUNT)
        assert shares == pytest.approx([0.4, 0.8, 1.0], abs=0.011)


def test_compressed_files_have_no_share_when_they_are_first_read(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a\n1\n"))
    shares = []
    rows = scan_csv(tmp_path / "a.csv.gz", types={"a": "number"}, progress=shares.append)
    rows.sum(COUNT)
    assert shares == []
    rows.sum(COUNT)
    assert shares == [1.0]


def test_shares_are_too_coarse_to_tell_how_many_rows_there_are(tmp_path):
    pl.DataFrame({"a": range(10_007)}).write_parquet(tmp_path / "a.parquet", row_group_size=1000)
    shares = []
    scan_parquet(tmp_path / "a.parquet", progress=shares.append).sum(COUNT)
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) > 1
    assert all(share == round(share, 2) for share in shares)


def test_a_share_below_the_last_is_of_another_turn(terminal, capsys):
    with Bar(True, "fitting") as bar:
        for share in (0.5, 1.0, 0.25):
            bar.at(share)
    shown = capsys.readouterr().err
    assert "fitting" in shown and "25%" in shown and "reading 2" in shown


def test_a_bar_appears_by_itself_only_for_long_work(terminal, capsys, monkeypatch):
    with Bar(None, "reading") as bar:
        bar.at(0.5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with Bar(None, "reading") as bar:
        bar.at(None)
        bar.at(0.5)
    assert "50%" in capsys.readouterr().err


@pytest.mark.parametrize("shown", [None, False])
def test_nothing_where_nobody_watches(shown, capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with Bar(shown, "reading") as bar:
        bar.at(0.5)
    assert capsys.readouterr().err == ""


def test_a_bar_ends_with_the_work_that_fails(terminal, capsys):
    with pytest.raises(KeyError), Bar(True, "fitting") as bar:
        raise KeyError
    assert not bar._bar.live.is_started
