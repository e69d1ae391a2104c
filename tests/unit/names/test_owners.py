"""Who owns a name, and in which order it is told."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from homi.address import OWNER, Name, parse_address
from homi.claims import Body
from homi.clock import SystemClock
from homi.errors import CannotCreate, NoInput, NoSuchName, Usage
from homi.names import Names
from homi.owners import Owners
from homi.sessions import Session, Sessions
from tests.unit.names.test_names import NOW, names_at
from tests.unit.sessions.place import Registry

ADA = Name("ada")
Told = list[tuple[str, int | None, int | None]]


class Scene:
    """Names, sessions and owners over one registry; look() reads it now."""

    def __init__(self, registry: Registry, root: Path) -> None:
        self.names: Names = names_at(root)
        self.sessions = Sessions([registry.config], SystemClock())
        self.owners = Owners(self.names, self.sessions)
        self.told: Told = []
        self.owners.subscribe(
            lambda name, old, new: self.told.append(
                (name, old and old.pid, new and new.pid)
            )
        )
        self.look: Callable[[], None] = self.sessions.rescan

    def pid(self, name: str = "ada") -> int | None:
        """The owner's pid."""
        owner = self.owners.owner(Name(name))
        return None if owner is None else owner.pid


@pytest.fixture
def scene(registry: Registry, tmp_path: Path) -> Scene:
    """A claimed name and nobody home."""
    made = Scene(registry, tmp_path)
    made.names.claim("ada", None, NOW)
    return made


def test_a_session_of_the_folded_name_owns_the_claim(
    registry: Registry, scene: Scene
) -> None:
    """It appears, it owns; it goes, nobody does."""
    assert scene.pid() is None
    pid = registry.session("ADA")
    scene.look()
    assert scene.pid() == pid
    registry.path(pid).unlink()
    scene.look()
    assert scene.pid() is None
    assert scene.told == [("ada", None, pid), ("ada", pid, None)]


def test_a_session_of_an_unclaimed_name_owns_nothing_until_the_claim(
    registry: Registry, scene: Scene
) -> None:
    """And a release ends ownership, not the session."""
    pid = registry.session("bob")
    scene.look()
    assert scene.told == []
    scene.names.claim("bob", None, NOW)
    assert scene.pid("bob") == pid
    scene.names.release("bob")
    assert scene.pid("bob") is None
    assert scene.told == [("bob", None, pid), ("bob", pid, None)]


def test_of_two_the_first_stays_and_the_other_shows(
    registry: Registry, scene: Scene
) -> None:
    """A newcomer, older by its own clock or not, never takes the name over."""
    first = registry.session("ada", startedAt=5000)
    scene.look()
    second = registry.session("ada", startedAt=1)
    third = registry.session("Ada")
    scene.look()
    registry.write(second, name="ada", status="busy", startedAt=1)
    scene.look()
    assert scene.pid() == first
    assert [s.pid for s in scene.owners.others(ADA)] == [second, third]
    registry.kill(first)
    registry.children[0].wait()
    scene.look()
    assert scene.pid() == second
    assert [s.pid for s in scene.owners.others(ADA)] == [third]
    assert scene.told == [("ada", None, first), ("ada", first, second)]


def test_a_rename_frees_one_name_and_takes_the_other(
    registry: Registry, scene: Scene
) -> None:
    """The freed name is told first: its record is planted again at once."""
    scene.names.claim("bob", None, NOW)
    pid = registry.session("ada")
    scene.look()
    registry.write(pid, name="bob")
    scene.look()
    assert scene.told[1:] == [("ada", pid, None), ("bob", None, pid)]
    owner = scene.owners.owner(Name("bob"))
    assert owner is not None
    assert scene.owners.names_of(owner.ref) == ["bob"]


def test_a_change_of_the_same_owner_is_known_but_not_told(
    registry: Registry, scene: Scene
) -> None:
    """Status and conversation change all day long."""
    pid = registry.session("ada")
    scene.look()
    registry.write(pid, name="ada", status="busy", sessionId="fresh")
    scene.look()
    owner = scene.owners.owner(ADA)
    assert owner is not None
    assert (owner.status, owner.session_id) == ("busy", "fresh")
    assert len(scene.told) == 1


def test_a_folder_bound_claim_is_owned_from_inside_only(
    registry: Registry, tmp_path: Path
) -> None:
    """By real paths, and a folder whose name merely begins alike is outside."""
    scene = Scene(registry, tmp_path)
    for name in ("work", "work/deep", "workshop"):
        (tmp_path / name).mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "work" / "deep")
    scene.names.claim("ada", str(tmp_path / "work"), NOW)
    outside = registry.session("ada", cwd=str(tmp_path / "workshop"))
    nowhere = registry.session("ada", cwd=None)
    scene.look()
    assert scene.pid() is None
    assert [s.pid for s in scene.owners.unfit(ADA)] == [outside, nowhere]
    inside = registry.session("ada", cwd=str(link))
    scene.look()
    assert scene.pid() == inside
    registry.write(inside, name="ada", cwd="/")
    registry.write(outside, name="ada", cwd=str(tmp_path / "work"))
    scene.look()
    assert scene.pid() == outside
    scene.names.claim("ada", str(tmp_path / "workshop"), NOW)
    assert scene.pid() is None


def test_a_session_without_a_socket_owns_nothing_and_shows(
    registry: Registry, scene: Scene
) -> None:
    """Nothing could be handed to it; status names it."""
    pid = registry.session("ada", messagingSocketPath=None)
    scene.look()
    assert scene.pid() is None
    assert scene.owners.others(ADA) == []
    assert [s.pid for s in scene.owners.unfit(ADA)] == [pid]
    registry.write(pid, name="ada")
    scene.look()
    assert scene.pid() == pid
    assert scene.owners.unfit(ADA) == []


def test_a_record_that_names_a_socket_of_a_postmaster_owns_nothing(
    registry: Registry, scene: Scene
) -> None:
    """Its mail would come in at our own door as new mail, and go round for ever."""
    socket = f"/run/cc-socks/{scene.names.require('ada').number}.sock"
    pid = registry.session("ada", messagingSocketPath=socket)
    scene.look()
    assert scene.pid() is None
    assert [s.pid for s in scene.owners.unfit(ADA)] == [pid]
    registry.write(pid, name="ada")  # the control: a socket of its own
    scene.look()
    assert scene.pid() == pid


def test_a_taken_name_stays_with_its_session_while_that_lives(
    registry: Registry, scene: Scene, tmp_path: Path
) -> None:
    """Over renames and restarts of ours; then the first of the name has it."""
    namesake = registry.session("ada")
    taker = registry.session("zoe")
    scene.look()
    ref = scene.sessions.live[taker].ref
    assert scene.owners.take("ada", ref).pid == taker
    assert scene.told == [("ada", None, namesake), ("ada", namesake, taker)]
    assert [s.pid for s in scene.owners.others(ADA)] == [namesake]
    registry.write(taker, name="zoe2", sessionId="fresh")
    scene.look()
    assert scene.pid() == taker
    again = Scene(registry, tmp_path)
    again.look()
    assert again.pid() == taker
    registry.kill(taker)
    registry.children[1].wait()
    scene.look()
    assert scene.pid() == namesake


def test_only_a_live_session_with_a_socket_can_take(
    registry: Registry, scene: Scene
) -> None:
    """A dead one would hold the name from everybody."""
    pid = registry.session("zoe", messagingSocketPath=None)
    scene.look()
    ref = scene.sessions.live[pid].ref
    with pytest.raises(NoInput):
        scene.owners.take("ada", ref)
    registry.write(pid, name="zoe")
    scene.look()
    with pytest.raises(NoSuchName):
        scene.owners.take("nobody", ref)
    assert scene.owners.take("ada", ref).pid == pid


def test_nobody_owns_a_built_in(registry: Registry, scene: Scene) -> None:
    """A session that calls itself 'owner' gets none of the person's mail."""
    registry.session("owner")
    control = registry.session("ada")
    scene.look()
    assert scene.owners.owner(OWNER) is None
    assert scene.owners.others(OWNER) == []
    assert scene.pid() == control


def test_subscribers_are_told_in_the_order_they_came(
    registry: Registry, scene: Scene
) -> None:
    """The door withdraws its record before the courier drains."""
    order: list[str] = []

    def note(who: str) -> None:
        def told(_name: Name, _old: Session | None, _new: Session | None) -> None:
            order.append(who)

        scene.owners.subscribe(told)

    note("door")
    note("courier")
    registry.session("ada")
    scene.look()
    assert order == ["door", "courier"]


def test_prefixes_of_one_another_are_different_names(
    registry: Registry, scene: Scene
) -> None:
    """ada and ada-2 never share mail."""
    scene.names.claim("ada-2", None, NOW)
    pid = registry.session("ada-2")
    scene.look()
    assert (scene.pid("ada"), scene.pid("ada-2")) == (None, pid)
    assert os.getpid() not in scene.sessions.live


def test_only_who_owns_a_name_or_alone_carries_it_decides_over_its_mail(
    registry: Registry, tmp_path: Path
) -> None:
    """A namesake elsewhere, or a second one, must not end another's mail."""
    scene = Scene(registry, tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    scene.names.claim("ada", str(work), NOW)
    pids = {
        "elsewhere": registry.session("ada", cwd="/"),
        "hook": registry.session("ada", cwd=str(work), messagingSocketPath=None),
        "other": registry.session("bob"),
    }
    scene.look()

    def decides(who: str, name: str = "ada") -> bool:
        session = scene.sessions.by_pid(pids[who])
        assert session is not None
        return scene.owners.belongs(Name(name), session)

    assert not decides("elsewhere")
    assert decides("hook")  # nothing can be handed to it, it reads by itself
    assert not decides("other")
    assert decides("other", "bob")  # its own name, which nobody claimed
    assert not decides("other", "owner")
    pids["owner"] = registry.session("ada", cwd=str(work))
    scene.look()
    assert decides("owner")
    assert not decides("hook")


def test_behind_a_front_a_session_keeps_the_name_and_leaves_it_free(
    registry: Registry, scene: Scene
) -> None:
    """Taken while it goes by the name itself, told before the owner; then free."""
    told: list[object] = []
    scene.owners.on_taken(lambda name: told.append((name, scene.owners.taken(name))))
    scene.owners.subscribe(lambda _name, _old, new: told.append(new and new.pid))
    scene.names.front("ada", on=True)
    pid = registry.session("ada")
    scene.look()
    assert [each.pid for each in scene.owners.bare(ADA)] == [pid]
    registry.write(pid, name="ada-live")
    scene.look()
    assert scene.pid() == pid
    assert scene.owners.bare(ADA) == []
    assert told == [("ada", True), pid, ("ada", False)]
    session = scene.sessions.by_pid(pid)
    assert session is not None
    assert scene.owners.public(session) == "ada"
    assert scene.owners.belongs(ADA, session)
    second = registry.session("ada-live-2", startedAt=1)
    scene.look()
    assert scene.pid() == pid
    assert [each.pid for each in scene.owners.others(ADA)] == [second]
    scene.names.front("ada", on=False)
    assert scene.pid() is None
    assert scene.owners.public(session) == "ada-live"


def test_an_alias_is_taken_while_a_session_with_a_socket_has_its_name(
    registry: Registry, scene: Scene
) -> None:
    """One without a socket is no one to step aside for."""
    scene.names.add_alias("bob", parse_address("ada"), NOW)
    deaf = registry.session("bob", messagingSocketPath=None)
    scene.look()
    assert not scene.owners.taken(Name("bob"))
    registry.write(deaf, name="bob")
    scene.look()
    assert scene.owners.taken(Name("bob"))
    scene.names.aliases.remove("bob")
    assert not scene.owners.taken(Name("bob"))


THREAD = Body(client="codex", id="0190", home="/home/ada/.codex")


def thread(body: Body) -> Session:
    """The session of a body that lives."""
    return Session(pid=0, start=body.ref.start, session_id=body.id, client="codex")


def test_what_a_name_is_bound_to_has_it_while_it_lives(
    registry: Registry, scene: Scene
) -> None:
    """Before any session of that name; the name stays free for a record of ours,
    since a thread has none by which others could find it."""
    pid = registry.session("ada")
    scene.look()
    assert scene.pid() == pid
    assert scene.owners.taken(ADA)
    scene.names.embody("ada", THREAD)
    assert scene.pid() == pid
    scene.sessions.stand(thread(THREAD))
    assert scene.pid() == 0
    assert not scene.owners.taken(ADA)
    scene.sessions.fall(THREAD.ref)
    assert scene.pid() == pid
    scene.sessions.stand(thread(THREAD))
    scene.names.embody("ada", None)
    assert scene.pid() == pid


def test_a_body_belongs_to_one_name(scene: Scene) -> None:
    """Its mail would be two names'; again is no error, a built-in has none."""
    scene.names.claim("bob", None, NOW)
    scene.names.embody("ada", THREAD)
    scene.names.embody("ada", THREAD)
    with pytest.raises(CannotCreate, match="ada has that codex already"):
        scene.names.embody("bob", THREAD)
    with pytest.raises(Usage):
        scene.names.embody(OWNER, THREAD)
    found = scene.names.embodied(THREAD.ref)
    assert found is not None
    assert found.name == ADA
