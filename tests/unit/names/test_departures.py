"""The steps of a move on disk: each survives a restart, and the lower yields."""

import json
from pathlib import Path

import pytest

from homi.address import Device, Name
from homi.claims import KNOWN_MAX, Alias, Came, Forced, Moving, ways
from homi.errors import CannotCreate, NoSuchName, NotAllowed, NotReached
from homi.names import Names
from tests.unit.names.test_names import NOW, names_at

ADA, MINI, HUB = Name("ada"), Device("mini"), Device("hub")
CAME = Came(device=MINI, name=ADA, manifest="m")


def leaving(names: Names, device: Device = MINI, generation: int = 0) -> Moving:
    """ada on its way."""
    wanted = Moving(device=device, to=ADA, generation=generation)
    return names.departures.begin(ADA, wanted, NOW)


def arrive(names: Names, generation: int, came: Came = CAME) -> int:
    """ada claimed here by a move; its generation."""
    return names.departures.arrive(ADA, came, generation, NOW, {}).generation


def test_a_name_leaves_in_three_steps_each_of_which_is_kept(tmp_path: Path) -> None:
    names = names_at(tmp_path)
    number = names.claim("ada", None, NOW)[0].number
    assert leaving(names).generation == 2
    names = names_at(tmp_path)
    moving = names.require("ada")
    assert moving.ownerless
    assert moving.moving is not None
    assert not moving.moving.there
    names.departures.arrived(ADA)
    names = names_at(tmp_path)
    found = names.departures.under_way()
    assert [claim.moving.there for claim in found if claim.moving] == [True]
    names.departures.leave(ADA)
    names = names_at(tmp_path)
    assert names.get("ada") is None
    alias = names.aliases.get("ada")
    assert alias is not None
    assert (alias.to, alias.number, alias.moved) == ("ada@mini", number, 2)
    assert names.departures.moved(ADA) == alias


def test_its_socket_stands_for_one_or_the_other_all_the_time(tmp_path: Path) -> None:
    """An alias is told before the claim is gone, and the other way round."""
    names = names_at(tmp_path)
    told = list[str]()
    names.claim("ada", None, NOW)
    leaving(names)
    names.departures.arrived(ADA)
    names.subscribe(lambda _, claim: told.append("claim" if claim else "no claim"))
    names.aliases.subscribe(lambda _, one: told.append("alias" if one else "no alias"))
    names.departures.leave(ADA)
    assert told == ["alias", "no claim"]
    told.clear()
    arrive(names, 3)
    assert told == ["claim", "no alias"]


def test_a_move_to_elsewhere_waits_for_the_end_of_the_first(tmp_path: Path) -> None:
    """The same again is the same move."""
    names = names_at(tmp_path)
    names.claim("ada", None, NOW)
    first = leaving(names)
    assert leaving(names) == first
    with pytest.raises(NotReached, match="on its way to ada@mini"):
        leaving(names, HUB)
    same = names.departures.same
    assert same(ADA, MINI, ADA) == first
    with pytest.raises(NotReached, match="on its way to ada@mini"):
        same(ADA, MINI, ADA, fork=True)


def test_what_is_ended_stays_above_what_the_other_might_claim(tmp_path: Path) -> None:
    """And once it is there, only force ends it."""
    names = names_at(tmp_path)
    names.claim("ada", None, NOW)
    leaving(names)
    assert names.departures.cancel(ADA).generation == 3
    assert not names.require("ada").ownerless
    assert leaving(names).generation == 4
    names.departures.arrived(ADA)
    with pytest.raises(NotReached, match="on mini already"):
        names.departures.cancel(ADA)
    assert names.departures.cancel(ADA, forced=True).generation == 5
    names = names_at(tmp_path)
    assert names.departures.forced()["ada"].generation == 5
    names.departures.told(ADA, Forced(MINI, ADA, 4))  # of one before it
    one = names_at(tmp_path).departures.forced()["ada"]
    names.departures.told(ADA, one)
    assert names_at(tmp_path).departures.forced() == {}


def test_a_lower_generation_is_never_taken(tmp_path: Path) -> None:
    """Not after a fence, a release or a departure; a higher one is."""
    names = names_at(tmp_path)
    assert names.departures.least(ADA) == 1
    names.departures.fence(ADA, 4)
    for low in (2, 4):
        with pytest.raises(NotAllowed, match="is refused here"):
            arrive(names, low)
    assert arrive(names, 5) == 5
    names.release("ada")
    names = names_at(tmp_path)
    with pytest.raises(NotAllowed):
        arrive(names, 5)
    assert names.claim("ada", None, NOW)[0].generation == 6
    with pytest.raises(CannotCreate, match="claimed on this device"):
        arrive(names, 9)


def test_the_same_claim_again_is_no_error(tmp_path: Path) -> None:
    """As after an answer that was lost; by another move it is another's."""
    names = names_at(tmp_path)
    arrive(names, 2)
    names = names_at(tmp_path)
    assert arrive(names, 2) == 2
    with pytest.raises(NotAllowed):
        arrive(names, 2, Came(device=HUB, name=ADA))
    assert names.departures.came(ADA, MINI, ADA, 2)
    assert not names.departures.came(ADA, MINI, ADA, 3)
    assert not names.departures.came(ADA, HUB, ADA, 2)


def test_that_it_came_is_known_when_it_is_gone_again(tmp_path: Path) -> None:
    """Who brought it may ask late."""
    names = names_at(tmp_path)
    arrive(names, 2)
    names.departures.settled(ADA)
    leaving(names, HUB)
    names.departures.arrived(ADA)
    names.departures.leave(ADA)
    assert names_at(tmp_path).departures.came(ADA, MINI, ADA, 2)


def test_a_lower_claim_gives_way_and_sends_on_what_came(tmp_path: Path) -> None:
    """Only one that came from there, and only to a higher one."""
    names = names_at(tmp_path)
    arrive(names, 2)
    give = names.departures.give_back
    assert not give(ADA, ADA, HUB, 4, NOW)
    assert not give(ADA, ADA, MINI, 2, NOW)
    assert give(ADA, ADA, MINI, 4, NOW)
    moving = names.require("ada").moving
    assert moving is not None
    assert (moving.there, moving.generation, moving.device) == (True, 4, MINI)


def test_one_that_went_on_is_told_to_yield_and_leads_back(tmp_path: Path) -> None:
    """Whoever ended it by force knows only of the first place it went to."""
    names = names_at(tmp_path)
    arrive(names, 2)
    leaving(names, HUB)
    names.departures.arrived(ADA)
    names.departures.leave(ADA)
    on = names.departures.pass_on
    assert not on(ADA, ADA, HUB, 9)
    assert not on(ADA, ADA, MINI, 2)
    assert on(ADA, ADA, MINI, 3)
    names = names_at(tmp_path)
    assert names.departures.forced() == {"ada": Forced(HUB, ADA, 4)}
    alias = names.aliases.get("ada")
    assert alias is not None
    assert (alias.to, alias.moved) == ("ada@mini", 4)
    assert not names.departures.pass_on(ADA, ADA, MINI, 3)


def test_one_that_is_going_on_yields_and_is_told_to_yield_there(tmp_path: Path) -> None:
    """It may be claimed there by now, and the answer be lost."""
    names = names_at(tmp_path)
    arrive(names, 2)
    leaving(names, HUB)
    assert names.departures.give_back(ADA, ADA, MINI, 3, NOW)
    names = names_at(tmp_path)
    moving = names.require("ada").moving
    assert moving is not None
    assert (moving.device, moving.there) == (MINI, True)
    assert names.departures.forced() == {"ada": Forced(HUB, ADA, 4)}
    assert not names.departures.give_back(ADA, ADA, MINI, 3, NOW)


def test_mail_follows_a_name_from_where_it_came_only(tmp_path: Path) -> None:
    names = names_at(tmp_path)
    follows = names.departures.follows
    names.claim("bob", None, NOW)
    arrive(names, 2)
    assert follows(ADA, "ada@here", "mini")
    assert not follows(ADA, "ada@here", "hub")
    assert not follows(Name("bob"), "bob@here", "mini")


def test_a_fence_is_no_news_of_a_name(tmp_path: Path) -> None:
    """Nobody takes one that never was for released."""
    names = names_at(tmp_path)
    told = list[Name]()
    names.subscribe(lambda name, _claim: told.append(name))
    names.departures.fence(ADA, 4)
    assert told == []
    arrive(names, 5)
    assert told == [ADA]


def test_of_too_many_fences_the_oldest_without_a_claim_is_forgotten(
    tmp_path: Path,
) -> None:
    """Another device may fence names that never were, as many as it likes."""
    names = names_at(tmp_path)
    arrive(names, 3)
    path = tmp_path / "names.json"
    state = json.loads(path.read_text())
    state["fences"] |= {f"x{n}": 2 for n in range(KNOWN_MAX - 1)}
    path.write_text(json.dumps(state))
    names = names_at(tmp_path)
    for name in ("x1", "y"):
        names.departures.fence(Name(name), 4)
    kept = json.loads(path.read_text())["fences"]
    assert len(kept) == KNOWN_MAX
    assert (kept["ada"], kept["x1"], kept["y"]) == (3, 4, 4)
    assert "x0" not in kept
    assert "x2" in kept


def test_what_is_not_there_cannot_move(tmp_path: Path) -> None:
    names = names_at(tmp_path)
    with pytest.raises(NoSuchName):
        leaving(names)
    names.claim("ada", None, NOW)
    for step in (names.departures.arrived, names.departures.leave):
        with pytest.raises(NoSuchName, match="not on its way"):
            step(ADA)


def test_nothing_older_comes_for_a_copy() -> None:
    """Whatever led there before: its mail was never sent to the name it is of."""
    led = Alias(name=Name("ada"), to="ada@lab", number=1, at="", session_id="", moved=2)
    lab = Device("lab")
    assert ways(led, Came(device=lab, name=Name(""))) == []
    assert ways(led, Came(device=lab, name=Name("ada"))) == ["ada@lab"]
