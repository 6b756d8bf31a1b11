"""One person is one person, whichever identities a row has."""

import numpy as np
import pytest

from discreet.pseudonyms.errors import VaultError

pytestmark = pytest.mark.catalogue("PS1")
BORN = "1980-01-01"


def same(left, right):
    return np.array_equal(left, right)


def test_people_have_ids_of_their_own(vault, people):
    found = people.resolve(vault, ssn=["1", "2", "01", "2.0", None])
    assert found.person.tolist() == [True, True, True, True, False] and not found.ids[4].any()
    assert same(found.ids[0], found.ids[2]) and same(found.ids[1], found.ids[3])
    assert not same(found.ids[0], found.ids[1]) and not found.suppressed.any()
    again = people.resolve(vault, ssn=["2", "3"])
    assert same(again.ids[0], found.ids[1]) and vault.people.links.count() == 3


def test_many_people_at_once_and_one_by_one(vault, people):
    numbers = [str(number) for number in range(3000)]
    found = people.resolve(vault, ssn=numbers)
    assert len(np.unique(found.ids, axis=0)) == 3000
    for start in (0, 1, 1500, 2990):
        part = people.resolve(vault, ssn=[*numbers[start : start + 10], str(5000 + start)])
        assert same(part.ids[:10], found.ids[start : start + 10])
    assert vault.people.links.count() == 3004
    vault.verify()


def test_identities_of_one_row_lead_to_one_person(vault, people):
    both = people.resolve(vault, ssn=["1", "2"], name=["Ann", "Bob"], born=[BORN, BORN])
    assert same(people.resolve(vault, ssn=["2", "1"]).ids, both.ids[::-1])
    assert same(people.resolve(vault, name=["BOB", " ann "], born=[BORN, BORN]).ids, both.ids[::-1])


def test_rows_of_one_table_need_not_have_the_same_identities(vault, people):
    found = people.resolve(vault, ssn=[None, "1", "1"], name=["Ann", "Ann", None], born=[BORN, BORN, None])
    assert found.person.all() and same(found.ids[0], found.ids[1]) and same(found.ids[0], found.ids[2])


def test_a_person_known_by_name_stays_the_same_when_the_number_is_learnt(vault, people):
    first = people.resolve(vault, name=["Ann"], born=[BORN]).ids
    second = people.resolve(vault, ssn=["1"], name=["Ann"], born=[BORN]).ids
    assert same(first, second) and same(people.resolve(vault, ssn=["1"]).ids, first)
    vault.erase(vault.find({"ssn": "1"}), reason="asked")
    assert not vault.find({"name": "Ann", "born": BORN}).known and vault.people.links.count() == 0


def test_namesakes_are_two_people_and_their_name_is_shared(vault, people):
    first = people.resolve(vault, ssn=["1"], name=["Ann"], born=[BORN]).ids[0]
    found = people.resolve(vault, ssn=["2", None], name=["Ann", "Ann"], born=[BORN, BORN])
    assert not same(found.ids[0], first)
    assert found.person.tolist() == [True, False], "by the shared name alone the row is nobody's"
    with pytest.raises(VaultError, match=r"Several people.*sharper"):
        vault.find({"name": "Ann", "born": BORN})
    person = vault.find({"ssn": "1", "name": "Ann", "born": BORN})
    assert person.known and person.shared == ("name and birth",)
    assert same(people.resolve(vault, ssn=["1"]).ids[0], first)
    vault.verify()


def test_new_namesakes_in_one_table_do_not_take_over_the_one_known_by_name(vault, people):
    """Nobody can tell which of the two the known one is, in whatever order they come."""
    known = people.resolve(vault, name=["Ann"], born=[BORN]).ids[0]
    found = people.resolve(vault, ssn=["1", "2"], name=["Ann", "Ann"], born=[BORN, BORN])
    assert len({known.tobytes(), found.ids[0].tobytes(), found.ids[1].tobytes()}) == 3
    assert not people.resolve(vault, name=["Ann"], born=[BORN]).person.any()


def test_a_later_namesake_does_not_take_over(vault, people):
    first = people.resolve(vault, ssn=["1"], name=["Ann"], born=[BORN]).ids[0]
    later = people.resolve(vault, ssn=["2"], name=["Ann"], born=[BORN]).ids[0]
    assert not same(first, later)


def test_identities_of_two_people_in_one_row(vault, people):
    one = people.resolve(vault, ssn=["1"]).ids[0]
    two = people.resolve(vault, name=["Ann"], born=[BORN]).ids[0]
    with pytest.raises(VaultError, match="different people"):
        vault.find({"ssn": "1", "name": "Ann", "born": BORN})
    found = people.resolve(vault, ssn=["1"], name=["Ann"], born=[BORN])
    assert same(found.ids[0], one) and not same(one, two)
    assert same(people.resolve(vault, name=["Ann"], born=[BORN]).ids[0], one), "they turned out to be one"
    assert vault.people.former.count() == 1 and vault.people.shared.count() == 0
    assert vault.find({"ssn": "1", "name": "Ann", "born": BORN}).known
    vault.verify()


def test_one_table_gives_one_id_to_people_who_turn_out_to_be_one(vault, people):
    """Also to rows that have nothing in common with the one that tells."""
    people.resolve(vault, name=["Ann"], born=[BORN])
    people.resolve(vault, ssn=["1"])
    found = people.resolve(vault, ssn=["1", None, "1"], name=[None, "Ann", "Ann"], born=[None, BORN, BORN])
    assert same(found.ids[0], found.ids[1]) and same(found.ids[0], found.ids[2])


def test_chains_of_identities_are_merged(make, place, people):
    """Name, mail and number were met apart; two rows tie them together."""
    fields = {"ssn": "digits", "mail": "text", "name": "text"}
    with make(place, fields=fields, identities={"ssn": ["ssn"], "mail": ["mail"], "name": ["name"]}) as vault:
        for one in ({"ssn": ["1"]}, {"mail": ["a@b"]}, {"name": ["Ann"]}):
            people.table(vault, next(iter(one)), **one)
        people.table(vault, "weak", ssn=[None], mail=["a@b"], name=["Ann"])
        assert vault.find({"name": "ann"}).tables == ("mail", "name", "weak")
        people.table(vault, "whole", ssn=["1"], mail=["a@b"], name=[None])
        for values in ({"ssn": "1"}, {"mail": "a@b"}, {"name": "Ann"}):
            assert vault.find(values).tables == ("ssn", "mail", "name", "weak", "whole")
        vault.erase(vault.find({"mail": "a@b"}), reason="asked")
        assert all(store.count() == 0 for store in vault.people.stores())


def test_something_sharper_keeps_people_apart(make, place, people):
    """A mail and a name in one row, of people whose numbers differ."""
    fields = {"ssn": "digits", "mail": "text", "name": "text"}
    with make(place, fields=fields, identities={"ssn": ["ssn"], "mail": ["mail"], "name": ["name"]}) as vault:
        one = people.resolve(vault, ssn=["1"], mail=["a@b"], name=[None]).ids[0]
        two = people.resolve(vault, ssn=["2"], mail=[None], name=["Ann"]).ids[0]
        found = people.resolve(vault, mail=["a@b"], name=["Ann"])
        assert same(found.ids[0], one) and vault.people.former.count() == 0
        assert same(people.resolve(vault, ssn=["2"]).ids[0], two) and vault.people.shared.count() == 2


def test_order_of_rows_does_not_matter(make, tmp_path, people):
    rows = {"ssn": ["1", None, "2", None, "3"], "name": ["Ann", "Ann", "Bob", "Bob", "Bob"], "born": [BORN] * 5}
    shapes = []
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [3, 1, 4, 0, 2]):
        with make(tmp_path / f"{order[0]}.vault") as vault:
            found = people.resolve(vault, **{name: [values[row] for row in order] for name, values in rows.items()})
        place = {row: at for at, row in enumerate(order)}
        ids = [found.ids[place[row]].tobytes() if found.person[place[row]] else b"" for row in range(5)]
        shapes.append([ids.index(id) for id in ids])
    assert shapes[0] == shapes[1] == shapes[2] == [0, 0, 2, 3, 4]


def test_derived_links_store_nobody(make, place, people):
    with make(place, links="derived") as vault:
        found = people.resolve(vault, ssn=["1", "2", None], name=["Ann", None, "Cy"], born=[BORN, None, BORN])
        assert found.person.all() and same(people.resolve(vault, ssn=["2"]).ids[0], found.ids[1])
        assert vault.people.links.count() == 0 and vault.links == "derived"


def test_people_met_in_pieces_become_one_each(make, file, people):
    """Random rows of 30 people with three identities each, some missing, then all of them: nobody is taken for two."""
    rng = np.random.default_rng(5)
    fields = {"ssn": "digits", "mail": "text", "name": "text"}
    with make(file, fields=fields, identities={"ssn": ["ssn"], "mail": ["mail"], "name": ["name"]}) as vault:
        for part in range(12):
            who = rng.integers(0, 30, 8)
            cells = {name: [f"{i}" if rng.random() < 0.5 else None for i in who] for name in fields}
            found = people.table(vault, f"t{part}", **cells)
            met = np.array([any(cells[name][row] for name in fields) for row in range(8)])
            assert np.array_equal(found.person, met)
        whole = {name: [f"{i}" for i in range(30)] for name in fields}
        ids = people.table(vault, "all", **whole).ids
        assert len(np.unique(ids, axis=0)) == 30 and vault.people.shared.count() == 0
        assert vault.people.former.count() > 0 and vault.people.aliases.count() == 90
        for name in fields:
            assert same(people.resolve(vault, **{name: whole[name]}).ids, ids)
        used = sum(vault.uses.count(run.uid) for run in vault.tables())
        for i in range(30):
            vault.erase(vault.find({"name": f"{i}"}), reason="asked")
        assert used > 60 and sum(vault.uses.count(run.uid) for run in vault.tables()) == 0
        assert all(store.count() == 0 for store in vault.people.stores())
        vault.verify()
