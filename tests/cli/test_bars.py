"""Bars: the share of a file that is read, fits of all fits; nothing where nobody watches, and no number of rows."""

import polars as pl
import pytest

from discreet.cli import bars, watched
from discreet.engines.csv import BLOCK


class Terminal:
    """What a bar would show."""

    def __init__(self):
        self.shown = []

    def add_task(self, label, total):
        return 0

    def update(self, task, **shown):
        self.shown.append((shown["description"], shown["completed"], shown["total"]))


@pytest.fixture
def terminal(monkeypatch):
    found = Terminal()
    monkeypatch.setattr(bars, "SHOWN", [bars.Reading(found, "reading")])
    return found


def all_of(source, name):
    return sum(batch.num_rows for piece in source.pieces([name], [], 1 << 14) for _, batch in piece())


def test_csv_by_its_bytes(tmp_path, terminal):
    """Two and a half blocks: the share rises with each, and ends at one; a second reading is told as one."""
    line = "1234567\n"
    (tmp_path / "a.csv").write_text("a\n" + line * (5 * BLOCK // 2 // len(line)))
    source = watched.source(tmp_path / "a.csv", {"a": "number"})
    all_of(source, "a")
    labels, shares, totals = zip(*terminal.shown, strict=True)
    assert shares == pytest.approx((0.4, 0.8, 1.0), abs=0.01) and set(totals) == {1.0} and set(labels) == {"reading"}
    all_of(source, "a")
    assert terminal.shown[3][0] == "reading, reading 2" and terminal.shown[3][1] == pytest.approx(0.4, abs=0.01)


def test_compressed_files_have_no_share(tmp_path, terminal):
    import gzip

    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a\n1\n"))
    assert all_of(watched.source(tmp_path / "a.csv.gz", {"a": "number"}), "a") == 1 and terminal.shown == []


def test_parquet_by_places(tmp_path, terminal):
    pl.DataFrame({"a": range(10_000)}).write_parquet(tmp_path / "a.parquet", row_group_size=1000)
    assert all_of(watched.source(tmp_path / "a.parquet", {}), "a") == 10_000
    shares = [share for _, share, _ in terminal.shown]
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) > 1


def test_parts_done_out_of_turn_do_not_move_it_back(terminal):
    bars.begin()
    for done in (1, 3, 2, 4):
        bars.reached(done, 4)
    assert [share for _, share, _ in terminal.shown] == [0.25, 0.75, 0.75, 1.0]


def test_verbs_move_it(table, monkeypatch):
    seen = []
    monkeypatch.setattr(bars, "reached", lambda done, total: seen.append(done / total))
    table("fit", "visits.csv", "-t", "cost", "-e", "1", "-o", "m.json")
    for words in (["describe", "visits.csv", "-e", "1"], ["predict", "m.json", "visits.csv"]):
        seen.clear()
        assert table(*words).exit_code == 0 and seen, words


def test_fits_are_counted(monkeypatch, capsys):
    """On a terminal: so many of so many."""
    with bars.counting("fits") as step:
        assert step is None  # nobody watches
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with bars.counting("fits") as step:
        step(3, 12)
    assert "3/12" in capsys.readouterr().err
    with bars.counting("fits", shown=False) as step:
        assert step is None
