"""Eight processes at once, and processes killed at any moment: what was acknowledged is there."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from discreet.pseudonyms.vault import Vault

pytestmark = [pytest.mark.catalogue("PS3"), pytest.mark.slow, pytest.mark.xdist_group("vault processes")]
HAMMER = Path(__file__).with_name("hammer.py")


@pytest.fixture(scope="module")
def hammer():
    spec = importlib.util.spec_from_file_location("hammer", HAMMER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hammered(place, key, folder, children, seconds, kill):
    folder.mkdir()
    command = [
        sys.executable,
        str(HAMMER),
        place,
        str(key.path),
        str(folder),
        str(children),
        str(seconds),
        kill,
        "80000",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    errors = [path.read_text() for path in folder.glob("*.error")]
    assert not errors
    lines = [line.split() for path in folder.glob("*.txt") for line in path.read_text().split("\n")[:-1]]
    people = [(int(number), id) for kind, number, id in lines if kind == "person"]
    runs = {uid: [int(number) for number in numbers.split(",")] for kind, uid, numbers in lines if kind == "run"}
    return people, runs


def long(*values):
    return pytest.param(*values, marks=pytest.mark.integration)


@pytest.mark.parametrize(
    ("children", "seconds", "kill"),
    [(8, 1, "spare"), (6, 1, "kill"), long(8, 4, "spare"), long(6, 8, "kill")],  # and until enough was said
)
def test_nothing_acknowledged_is_lost(make, place, key, tmp_path, hammer, children, seconds, kill):
    make(place).close()
    people, runs = hammered(place, key, tmp_path / "said", children, seconds, kill)
    ids = dict(people)
    assert len(people) > 500 and len(runs) > 20
    assert all(ids[number] == id for number, id in people), "two processes gave one person two ids"
    assert len(set(ids.values())) == len(ids)
    with Vault.open(place, key_file=key) as vault:
        vault.verify()
        numbers = sorted(ids)
        found = vault.people.links.get(hammer.tags(numbers))
        assert found.known.all() and [value.tobytes().hex() for value in found.values] == [ids[n] for n in numbers]
        recorded = {run.uid for run in vault.tables()}
        registered = {entry.details["uid"] for entry in vault.register.entries() if entry.act == "pseudonymise"}
        assert set(runs) <= recorded == registered
        for uid, members in list(runs.items())[:50]:
            own = np.frombuffer(bytes.fromhex("".join(ids[number] for number in members)), np.uint8).reshape(-1, 16)
            assert vault.uses.has(uid, own).all() and vault.uses.count(uid) == len(members)


CREATE = """
import sys
from discreet.pseudonyms.vault import Vault
from discreet.pseudonyms.errors import VaultError
try:
    Vault.create(sys.argv[1], key_file=sys.argv[2], fields={"ssn": "digits"}, identities={"ssn": ["ssn"]}).close()
    print("made")
except VaultError as error:
    print("there" if "already" in str(error) else error)
"""


def test_two_that_make_the_same_vault(place, key):
    command = [sys.executable, "-c", CREATE, place, str(key.path)]
    racing = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = sorted(process.communicate(timeout=120)[0].strip() for process in racing)
    assert said == ["made", "there", "there"]
    with Vault.open(place, key_file=key) as vault:
        assert vault.verify().entries == 1


@pytest.mark.parametrize("seconds", [2, long(5)])
def test_an_erasure_and_tables_that_are_being_made(make, place, key, people, tmp_path, hammer, seconds):
    """Erase again and again beside four processes: nobody who was erased is in a table recorded after."""
    make(place).close()
    (tmp_path / "said").mkdir()
    said = str(tmp_path / "said")
    command = [sys.executable, str(HAMMER), place, str(key.path), said, "4", str(seconds), "spare", "0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running, Vault.open(place, key_file=key) as vault:
        from discreet.pseudonyms.entries import today
        from discreet.pseudonyms.rights import forget

        erased = []
        while running.poll() is None:
            number = len(erased)
            tag = hammer.tags([number])
            with vault.database.transaction():
                forget(vault, tag)
                vault.suppression.add(tag, today(), vault.register.anchor().count + 1)
                change = vault.settings.put("state", "erasures", {"count": vault.mark() + 1})
                vault.register.append("erase", changes=(change,))
            erased.append(number)
            if len(erased) == hammer.PEOPLE:
                break
        running.wait(timeout=60)
        assert not list((tmp_path / "said").glob("*.error"))
        found = vault.people.links.get(hammer.tags(erased))
        assert not found.known.any() and len(erased) > 5
        vault.verify()
