"""Bars of the command line: verbs that read rows tell the share that is done; none in JSON, or where nobody watches."""

import pytest

from discreet.cli import console


def test_verbs_move_it(table, monkeypatch):
    seen = []
    monkeypatch.setattr("discreet.progress.Bar.at", lambda bar, share: seen.append(share))
    table("fit", "visits.csv", "-t", "cost", "-e", "1", "-o", "m.json")
    for words in (["describe", "visits.csv", "-e", "1"], ["predict", "m.json", "visits.csv"]):
        seen.clear()
        assert table(*words).exit_code == 0 and seen and max(seen) >= 1.0, words


@pytest.mark.parametrize(
    ("watched", "json", "shown"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_a_bar_is_for_whoever_watches(watched, json, shown, monkeypatch, capsys):
    monkeypatch.setattr(console, "is_interactive", lambda: watched)
    with console.waiting("fitting", json) as bar:
        bar.at(0.5)
    assert ("fitting" in capsys.readouterr().err) is shown
