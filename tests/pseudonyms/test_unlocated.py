"""Tables of which it is not known who is in them: they are retired like any other."""

import pytest

from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.vault import Vault

pytestmark = pytest.mark.catalogue("PS3")


def unlocated(vault, name):
    return vault.record("pseudonymise", table=name, version=vault.version("research"), mark=vault.mark())


def test_one_is_retired_and_then_people_can_be_pruned(vault, people):
    unlocated(vault, "odd")
    people.resolve(vault, ssn=["1"])
    with pytest.raises(VaultError, match="retire"):
        vault.prune()
    assert len(vault.retire("odd").entries) == 1 and vault.tables() == ()
    assert vault.prune().people == 1
    vault.verify()


def test_one_that_a_model_was_fitted_on(vault):
    unlocated(vault, "odd")
    vault.used("odd", model="forest")
    assert vault.retire("odd").kept == ("odd",)
    vault.retire_model("forest")
    assert vault.tables() == ()
    vault.verify()


def test_one_that_a_restore_from_a_file_of_erasures_left(make, file, tmp_path, key, people):
    with make(file) as vault:
        vault.backup(tmp_path / "backup.vault")
        people.table(vault, "later", ssn=["1"])
        vault.erasures(tmp_path / "erasures")
    place = tmp_path / "new.vault"
    Vault.restore(place, tmp_path / "backup.vault", erasures_from=tmp_path / "erasures", key_file=key)
    with Vault.open(place, key_file=key) as vault:
        assert [run.located for run in vault.tables()] == [False]
        vault.retire("later")
        vault.verify()


def test_one_that_was_retired_after_the_backup(make, file, tmp_path, key):
    with make(file) as vault:
        unlocated(vault, "odd")
        vault.backup(tmp_path / "backup.vault")
        vault.retire("odd")
    place = tmp_path / "new.vault"
    Vault.restore(place, tmp_path / "backup.vault", erasures_from=file, key_file=key)
    with Vault.open(place, key_file=key) as vault:
        assert vault.tables() == ()
        vault.verify()
