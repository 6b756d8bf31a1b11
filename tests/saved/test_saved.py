"""What earlier versions wrote is still read: models, accounts with runs that may be retried, vaults."""

import json
import lzma
import os
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet import models
from discreet.engines.memory import Memory
from discreet.models.saving import load, load_saved, save
from discreet.pseudonyms import KeyFile, Vault

from . import work

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
VERSIONS = sorted(path.name for path in Path(__file__).parent.iterdir() if (path / "answers.json").exists())
ANSWERS = {one: json.loads((Path(__file__).parent / one / "answers.json").read_text()) for one in VERSIONS}
MODELS = [(version, name) for version in VERSIONS for name in ANSWERS[version]["predictions"]]


@pytest.fixture
def saved(tmp_path):
    """Writes a file of a version where a test may use it, its owner's alone."""

    def write(version, name):
        content = lzma.decompress((Path(__file__).parent / version / f"{name}.xz").read_bytes())
        mask = os.umask(0o077)
        try:
            (tmp_path / name).write_bytes(content)
        finally:
            os.umask(mask)
        return tmp_path / name

    return write


def test_there_is_something_to_read():
    assert "0.1.0" in VERSIONS


@pytest.mark.parametrize(("version", "name"), MODELS)
def test_models_predict_what_they_did(saved, version, name):
    model = load(saved(version, f"{name}.json"))
    wanted = ANSWERS[version]["predictions"][name]
    found = work.predictions(model)
    assert found == wanted if isinstance(wanted[0], str) else np.allclose(found, wanted, rtol=1e-12, atol=0)
    assert "Guarantee" not in str(model.release_) and model.release_.epsilon > 0


def test_a_file_holds_the_draws_of_a_posterior(tmp_path, monkeypatch):
    """So a later version, with another sampler, predicts the same."""
    model = models.BayesianLinearRegression(1.0, 1e-6, bounds=work.public(), draws=20, chains=1)
    save(model.fit(*work.rows()), tmp_path / "model.json")
    monkeypatch.setattr("discreet.models.linear.posterior_draws.sample_posterior", None)
    assert work.predictions(load(tmp_path / "model.json")) == work.predictions(model)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_encoder_comes_with_its_model(saved, version):
    found = load_saved(saved(version, "encoded.json"))
    assert found.columns == ("age", "ward") and found.target == "ill"


@pytest.mark.parametrize("version", [one for one in VERSIONS if one == dc.__version__])  # others are charged anew
def test_runs_of_before_are_not_charged_again(saved, version):
    ledger = dc.Ledger.open(saved(version, "account.ledger"))
    assert work.ask(ledger) == ANSWERS[version]["asked"]  # private: drawn anew, they would differ
    assert work.fail(ledger, Memory) is not None  # was charged, and failed
    assert ledger.spent == ANSWERS[version]["spent"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_vault_knows_its_people(saved, version):
    place, key = saved(version, "people.vault"), KeyFile(saved(version, "key"))
    with Vault.open(place, key_file=key) as vault:
        vault.verify()
        assert ANSWERS[version]["pseudonym"] in [one.pseudonym for one in vault.find({"ssn": "1"}).locators]
        again = vault.pseudonymise(work.visits(), ["ssn", "name"], "research", name="again")
    assert again["pseudonym"][0] == ANSWERS[version]["pseudonym"]


def test_a_plan_that_forked_keeps_its_account(saved):
    """Plans of 0.1.0 could fork; none is made any more, and what one was charged is still counted."""
    ledger = dc.Ledger.open(saved("0.1.0", "forked.ledger"))
    (entry,) = ledger.entries
    assert "either" in str(entry.event.events[1])
    assert ledger.spent == pytest.approx(1.0, rel=0.05) and ledger.spent >= 0.999
    with pytest.raises(dc.BudgetExceeded):
        dc.stats.count(np.ones(10), epsilon=0.5, ledger=ledger)
