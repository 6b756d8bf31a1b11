"""Names that several people have: who they are, how many, and what that costs."""

import pytest

from discreet.pseudonyms import owners, pruning
from discreet.pseudonyms.chunks import Chunks

pytestmark = pytest.mark.catalogue("PS1")
BORN = "1980-01-01"


@pytest.fixture
def writes(monkeypatch):
    """The stores that were written, once for each time."""
    found = []
    put, remove = Chunks.put, Chunks.remove
    monkeypatch.setattr(Chunks, "put", lambda self, *rest: (found.append(self.store), put(self, *rest))[1])
    monkeypatch.setattr(Chunks, "remove", lambda self, *rest: (found.append(self.store), remove(self, *rest))[1])
    return found


def namesakes(vault, people, numbers, names):
    return people.resolve(vault, ssn=[str(one) for one in numbers], name=names, born=[BORN] * len(names))


@pytest.mark.parametrize("names", [["Unknown"] * 300, [f"Person {i // 2}" for i in range(300)]])
def test_names_of_several_people_are_written_together(vault, people, writes, names, monkeypatch):
    found = namesakes(vault, people, range(300), names)
    assert found.person.all() and len({id.tobytes() for id in found.ids}) == 300
    assert 0 < writes.count("shared") < 5 and len(writes) < 10
    vault.verify()
    monkeypatch.setattr(vault.database, "transaction", None)  # all of it is noted: nobody has to wait
    assert (namesakes(vault, people, range(300), names).ids == found.ids).all()


def test_a_new_namesake_is_noted_beside_those_who_are_known(vault, people, writes):
    known = namesakes(vault, people, range(20), ["Unknown"] * 20)
    writes.clear()
    found = namesakes(vault, people, range(21), ["Unknown"] * 21)
    assert (found.ids[:20] == known.ids).all() and found.person.all() and writes
    assert vault.people.shared.count() == 21


def test_of_a_placeholder_only_the_number_of_people_is_kept(vault, people, monkeypatch):
    monkeypatch.setattr(owners, "MOST", 5)
    namesakes(vault, people, range(4), ["Unknown"] * 4)
    assert vault.people.shared.count() == 4
    namesakes(vault, people, range(4, 8), ["Unknown"] * 4)
    assert vault.people.shared.count() == 1
    namesakes(vault, people, range(10), ["Unknown"] * 10)
    for number in range(10):
        assert vault.people.shared.count() == 1 and not people.resolve(vault, name=["Unknown"], born=[BORN]).person[0]
        vault.erase(vault.find({"ssn": str(number)}), reason="asked")
    assert vault.people.shared.count() == 0 == vault.people.links.count() == vault.people.aliases.count()
    vault.verify()


@pytest.mark.parametrize("numbers, known", [((1, 2), True), ((3, 4, 5), False)])
def test_a_name_goes_back_to_the_last_who_has_it_unless_it_is_a_placeholder(vault, people, monkeypatch, numbers, known):
    monkeypatch.setattr(owners, "MOST", 2)
    found = namesakes(vault, people, numbers, ["Ann"] * len(numbers))
    for number in numbers[1:]:
        vault.correct(vault.find({"ssn": str(number)}), {"name": "Ann", "born": BORN})
    again = people.resolve(vault, name=["Ann"], born=[BORN])
    assert again.person[0] == known and (not known or (again.ids[0] == found.ids[0]).all())


def test_many_people_are_pruned_together(vault, people, writes):
    people.table(vault, "first", ssn=["900"])
    names = [f"Person {i // 2}" for i in range(300)]
    namesakes(vault, people, range(300), names)
    writes.clear()
    assert vault.prune().people == 300 and len(writes) < 12
    assert vault.people.links.count() == 1 and vault.people.shared.count() == vault.people.aliases.count() == 0
    vault.verify()


def test_a_placeholder_is_on_no_list_of_erased_people(vault, people, monkeypatch):
    monkeypatch.setattr(owners, "MOST", 2)
    namesakes(vault, people, range(4), ["Unknown"] * 4)
    for number in range(4):
        vault.erase(vault.find({"ssn": str(number)}), reason="asked")
    assert vault.people.shared.count() == 0
    assert not people.resolve(vault, name=["Unknown"], born=[BORN]).suppressed.any()
    assert people.resolve(vault, ssn=["0", "1"]).suppressed.all()
    vault.verify()


def test_names_of_two_people_who_were_both_erased_are_on_the_list(vault, people):
    namesakes(vault, people, range(2), ["Ann"] * 2)
    for number in range(2):
        vault.erase(vault.find({"ssn": str(number)}), reason="asked")
    assert people.resolve(vault, name=["Ann"], born=[BORN]).suppressed.all()


def test_somebody_who_is_merged_while_others_are_pruned_is_counted_off_once(make, place, people, monkeypatch):
    monkeypatch.setattr(owners, "MOST", 2)
    fields = {"ssn": "digits", "card": "digits", "name": "text", "born": "date"}
    identities = {"ssn": ["ssn"], "card": ["card"], "name and birth": ["name", "born"]}
    cut = pruning._cut
    with make(place, fields=fields, identities=identities) as vault:
        people.resolve(vault, card=["1"], name=["Unknown"], born=[BORN])
        people.table(vault, "visits", ssn=["7", "8", "9"], name=["Unknown"] * 3, born=[BORN] * 3)
        people.resolve(vault, ssn=["1"])

        def late(vault, *rest):
            people.resolve(vault, ssn=["1"], card=["1"])
            assert vault.people.former.count() == 1
            return cut(vault, *rest)

        monkeypatch.setattr(pruning, "_cut", late)
        before = crowd(vault)
        vault.prune()
        assert before == 4 and crowd(vault) == 3 and vault.people.former.count() == 0
        vault.verify()


def crowd(vault):
    """How many people have the one placeholder."""
    (value,) = [value for _, values in vault.people.shared.scan() for value in values]
    assert value.tobytes()[:8] == owners.ZEROS
    return int.from_bytes(value.tobytes()[8:], "big")
