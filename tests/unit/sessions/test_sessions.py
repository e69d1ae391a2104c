"""Who lives, told by real files and real processes."""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from homi.clock import SystemClock
from homi.envelope import CLAUDE, SessionRef
from homi.peers import process
from homi.sessions import Session, Sessions
from tests.unit.sessions.place import Registry, Watched, run


def test_what_is_there_at_the_start_appears_in_order_of_its_name(
    registry: Registry,
) -> None:
    """After a restart of ours the first session must still be the first."""
    young = registry.session("ada", startedAt=1, nameSince=3000)
    old = registry.session("ada", startedAt=2000)

    async def main() -> None:
        async with Watched(registry.config) as watched:
            found = watched.sessions.by_address("ada")
            assert [session.pid for session in found] == [old, young]
            assert watched.shown() == [(None, "ada")] * 2

    run(main)


def test_a_session_that_appears_is_renamed_and_ends_is_told(
    registry: Registry,
) -> None:
    """The three notices everything else hangs on, each with old and new."""

    async def main() -> None:
        async with Watched(registry.config) as watched:
            pid = registry.session("My Agent")
            await watched.until(lambda: len(watched.events) == 1)
            assert [s.pid for s in watched.sessions.by_address("my-agent")] == [pid]
            registry.write(pid, name="other")
            await watched.until(lambda: len(watched.events) == 2)
            assert watched.sessions.by_address("my-agent") == []
            registry.path(pid).unlink()
            await watched.until(lambda: len(watched.events) == 3)
            assert watched.shown() == [
                (None, "My Agent"),
                ("My Agent", "other"),
                ("other", None),
            ]
            assert watched.sessions.live == {}

    run(main)


def test_a_killed_session_has_ended_though_its_record_stays(
    registry: Registry,
) -> None:
    """SIGKILL leaves the file, and later looks at it must not revive it."""
    pid = registry.session("ada")
    other = registry.session("bob")

    async def main() -> None:
        async with Watched(registry.config) as watched:
            registry.kill(pid)
            await watched.until(lambda: pid not in watched.sessions.live)
            assert registry.path(pid).exists()
            watched.sessions.rescan()
            assert list(watched.sessions.live) == [other]
            assert watched.shown()[2:] == [("ada", None)]

    run(main)


def test_a_record_that_changes_only_its_status_is_told_once(
    registry: Registry,
) -> None:
    """A rewrite with the same bytes is no news."""
    pid = registry.session("ada")

    async def main() -> None:
        async with Watched(registry.config) as watched:
            registry.write(pid, name="ada")
            registry.write(pid, name="ada", status="busy")
            await watched.until(lambda: len(watched.events) == 2)
            old, new = watched.events[1]
            assert old is not None
            assert new is not None
            assert (old.status, new.status) == ("idle", "busy")

    run(main)


def test_clear_keeps_the_process_and_changes_the_conversation(
    registry: Registry,
) -> None:
    """pid and start name the session; the id is what it talks in now."""
    pid = registry.session("ada")

    async def main() -> None:
        async with Watched(registry.config) as watched:
            before = watched.sessions.live[pid].ref
            registry.write(pid, name="ada", sessionId="fresh")
            await watched.until(lambda: len(watched.events) == 2)
            now = watched.sessions.by_ref(before)
            assert now is not None
            assert now.session_id == "fresh"
            assert now.ref != before
            reused = SessionRef(pid, before.start + "0", before.id)
            assert watched.sessions.by_ref(reused) is None

    run(main)


@pytest.mark.parametrize(
    "fields",
    [
        {"procStart": "1"},
        {"procStart": "1", "pidDomain": None},
        {"pidDomain": "homi:0011223344556677"},
        {"pidDomain": "linux:other:pid:[1]"},
        {"pidDomain": ""},
    ],
)
def test_a_live_pid_alone_makes_no_session(
    registry: Registry, fields: dict[str, str | None]
) -> None:
    """A reused pid, a record of ours, another pid namespace."""
    registry.session("ada", **fields)
    control = registry.session("bob")

    async def main() -> None:
        async with Watched(registry.config) as watched:
            assert list(watched.sessions.live) == [control]

    run(main)


def test_a_record_without_domain_or_start_counts_by_its_pid(
    registry: Registry,
) -> None:
    """Older clients wrote neither."""
    pid = registry.session("ada", procStart=None, pidDomain=None)
    dead = registry.session("bob", procStart=None, pidDomain=None)
    registry.kill(dead)
    registry.children[1].wait()

    async def main() -> None:
        async with Watched(registry.config) as watched:
            session = watched.sessions.by_pid(pid)
            assert session is not None
            assert session.start == process.start_time(pid)
            assert list(watched.sessions.live) == [pid]

    run(main)


def test_a_number_no_pid_can_have_is_not_even_read(registry: Registry) -> None:
    """A thousand planted names must not cost each look a thousand reads."""
    planted = 123456789012
    fields = registry.fields(os.getpid(), name="ada", procStart=None, pidDomain=None)

    async def main() -> None:
        async with Watched(registry.config) as watched:
            registry.path(planted).write_text(json.dumps(fields))
            registry.path(os.getpid()).write_text(json.dumps(fields))
            await watched.until(lambda: bool(watched.sessions.live))
            watched.sessions.rescan()
            assert list(watched.sessions.live) == [os.getpid()]

    run(main)


def test_a_new_process_under_an_old_number_is_another_session(
    registry: Registry,
) -> None:
    """The old one ends before the new one appears, also in one notice."""
    pid = registry.spawn()
    config = str(registry.config)
    registry.write(pid, name="new")

    async def main() -> None:
        async with Watched(registry.config) as watched:
            sessions = watched.sessions
            old = Session(pid=pid, start="1", name="old", config_dir=config)
            sessions.live[pid] = old
            watched.events.clear()
            registry.write(pid, name="new", status="busy")
            await watched.until(lambda: len(watched.events) == 2)
            assert watched.shown() == [("old", None), (None, "new")]

    run(main)


@pytest.mark.parametrize(
    ("fields", "can_own"),
    [
        ({}, True),
        ({"kind": None, "status": None}, True),
        ({"kind": "bg"}, True),
        ({"messagingSocketPath": None}, False),
        ({"kind": "daemon"}, False),
        ({"kind": "daemon-worker"}, False),
        ({"spare": True}, False),
        ({"parkedJobId": "j"}, False),
    ],
)
def test_a_session_that_takes_no_turns_is_shown_but_owns_nothing(
    registry: Registry, fields: dict[str, object], can_own: bool
) -> None:
    """Mail for it is held, and status can say why."""
    pid = registry.session("ada", **fields)

    async def main() -> None:
        async with Watched(registry.config) as watched:
            assert watched.sessions.live[pid].can_own is can_own

    run(main)


@pytest.mark.parametrize("name", ["owner", "Owner", "POSTMASTER", " main ", "", "///"])
def test_a_reserved_or_empty_name_is_no_address(registry: Registry, name: str) -> None:
    """A session must not write, or be written to, as the person."""
    pid = registry.session(name)
    control = registry.session("owner-2")

    async def main() -> None:
        async with Watched(registry.config) as watched:
            assert watched.sessions.live[pid].address is None
            assert watched.sessions.live[pid].name == name
            assert watched.sessions.live[control].address == "owner-2"

    run(main)


def test_a_torn_record_is_read_again_without_another_notice(
    registry: Registry,
) -> None:
    """The writer may finish within the same notice, after our look."""
    pid = registry.spawn()
    whole = json.dumps(registry.fields(pid, name="ada"))

    async def main() -> None:
        async with Watched(registry.config) as watched:
            loop = asyncio.get_running_loop()
            # The first look comes by the sweep; no event tells of the end, since
            # the descriptor stays open.
            with registry.path(pid).open("w", buffering=1) as file:
                file.write(whole[:40])
                file.flush()
                watched.sessions.rescan()
                assert watched.sessions.live == {}
                loop.call_soon(lambda: (file.write(whole[40:]), file.flush()))
                await watched.until(lambda: pid in watched.sessions.live)

    run(main)


def test_a_torn_record_does_not_end_the_session_it_is_about(
    registry: Registry,
) -> None:
    """An empty file is a rewrite under way; the pid tells who lives."""
    pid = registry.session("ada")

    async def main() -> None:
        async with Watched(registry.config) as watched:
            registry.path(pid).write_text("")
            other = registry.session("bob")
            await watched.until(lambda: other in watched.sessions.live)
            assert pid in watched.sessions.live
            registry.write(pid, name="ada", status="busy")
            await watched.until(lambda: watched.sessions.live[pid].status == "busy")
            registry.path(pid).write_text("{")
            registry.kill(pid)
            await watched.until(lambda: pid not in watched.sessions.live)

    run(main)


def test_a_record_that_stays_torn_is_not_read_for_ever(registry: Registry) -> None:
    """A bounded number of looks, then its next event brings it back."""
    pid = registry.spawn()

    async def main() -> None:
        async with Watched(registry.config) as watched:
            registry.path(pid).write_text("{")
            sessions = watched.sessions
            sessions.rescan()
            async with asyncio.timeout(60):
                while sessions._timers:
                    loop = asyncio.get_running_loop()
                    done = asyncio.Event()
                    loop.call_later(0.001, done.set)
                    await done.wait()
            assert sessions.live == {}
            registry.write(pid, name="ada")
            await watched.until(lambda: pid in sessions.live)

    run(main)


def test_a_folder_that_comes_late_goes_and_comes_again_is_followed(
    tmp_path: Path, registry: Registry
) -> None:
    """A client makes its folder at its first start; people remove it."""
    late = Registry(tmp_path / "a" / "b" / "config")

    async def main() -> None:
        async with Watched(late.config) as watched:
            late.make()
            first = late.session("ada")
            await watched.until(lambda: first in watched.sessions.live)
            shutil.rmtree(tmp_path / "a")
            await watched.until(lambda: not watched.sessions.live)
            late.make()
            late.write(first, name="again")
            await watched.until(lambda: first in watched.sessions.live)
            away = late.config.with_name("away")
            late.folder.rename(away)
            await watched.until(lambda: not watched.sessions.live)
            away.rename(late.folder)
            await watched.until(lambda: first in watched.sessions.live)

    try:
        run(main)
    finally:
        late.close()


def test_a_folder_replaced_without_a_notice_is_found_by_the_sweep(
    tmp_path: Path, registry: Registry
) -> None:
    """Renaming a parent tells the watched folder nothing."""

    async def main() -> None:
        async with Watched(registry.config) as watched:
            registry.config.rename(tmp_path / "old")
            registry.make()
            watched.sessions.rescan()
            pid = registry.session("ada")
            await watched.until(lambda: pid in watched.sessions.live)

    run(main)


def test_record_replaced_at_once_is_the_session_it_was(registry: Registry) -> None:
    """Clean removal and a new record in one batch: who lives now counts."""
    pid = registry.session("ada")

    async def main() -> None:
        async with Watched(registry.config) as watched:
            registry.path(pid).unlink()
            registry.write(pid, name="bob")
            await watched.until(lambda: len(watched.events) == 2)
            assert watched.shown()[1] == ("ada", "bob")
            hidden = registry.folder / ".new"
            hidden.write_text(json.dumps(registry.fields(pid, name="eve")))
            hidden.rename(registry.path(pid))
            await watched.until(lambda: len(watched.events) == 3)
            assert watched.shown()[2] == ("bob", "eve")

    run(main)


def test_two_registries_are_watched_and_one_named_twice_is_one(
    tmp_path: Path, registry: Registry
) -> None:
    """A link to a config folder must not double its sessions."""
    other = Registry(tmp_path / "other")
    other.make()
    link = tmp_path / "link"
    link.symlink_to(registry.config)

    async def main() -> None:
        async with Watched(registry.config, link, other.config) as watched:
            first = registry.session("ada")
            second = other.session("bob")
            await watched.until(lambda: len(watched.sessions.live) == 2)
            found = watched.sessions.live
            assert found[first].config_dir == str(registry.config)
            assert found[second].config_dir == str(other.config)
            assert len(watched.events) == 2

    try:
        run(main)
    finally:
        other.close()


def test_a_thousand_records_at_once_hide_no_session(registry: Registry) -> None:
    """Dead records of a burst cost time, not truth."""
    pids = [registry.spawn() for _ in range(3)]

    async def main() -> None:
        async with Watched(registry.config) as watched:
            for number in range(1000):
                path = registry.folder / f"{4_190_000 + number}.json"
                path.write_text(json.dumps({"name": "x", "messagingSocketPath": "/x"}))
                if number % 400 == 0:
                    registry.write(pids[number // 400], name="ada")
            for round_ in range(1000):
                registry.write(pids[0], name=f"n{round_}")
            await watched.until(lambda: len(watched.sessions.live) == 3)
            live = watched.sessions.live
            await watched.until(lambda: live[pids[0]].name == "n999")
            # Collapsed: far fewer events than writes.
            assert len(watched.events) < 500

    run(main)


def test_lost_events_are_made_good_by_a_scan(registry: Registry) -> None:
    """The kernel drops notices when its queue is full, and says so."""
    limit = Path("/proc/sys/fs/inotify/max_queued_events")
    if not limit.exists():
        pytest.skip("no inotify")
    pid = registry.spawn()
    rounds = int(limit.read_text()) // 4 + 1

    async def main() -> None:
        async with Watched(registry.config) as watched:
            # Alternate two names: equal neighbours are merged by the kernel.
            first, second = registry.folder / "a", registry.folder / "b"
            for _ in range(rounds):
                for path in (first, second):
                    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
                    path.unlink()
            registry.write(pid, name="ada")
            await watched.until(lambda: pid in watched.sessions.live)

    run(main)


def test_without_notices_a_poll_sees_the_same(registry: Registry) -> None:
    """Systems without inotify and pidfd: slower, and as true."""

    async def main() -> None:
        async with Watched(registry.config, notices=False) as watched:
            pid = registry.session("ada")
            other = registry.session("bob")
            await watched.until(lambda: len(watched.sessions.live) == 2)
            registry.kill(pid)
            registry.path(other).unlink()
            await watched.until(lambda: not watched.sessions.live)

    run(main)


def test_events_caused_by_a_subscriber_come_after_the_one_it_got(
    registry: Registry,
) -> None:
    """Every subscriber sees one order of things."""
    first = registry.session("ada")
    second = registry.spawn()
    seen: list[tuple[int | None, int | None]] = []

    async def main() -> None:
        sessions = Sessions([registry.config], SystemClock())

        def meddle(_old: Session | None, new: Session | None) -> None:
            if new is not None and new.pid == first:
                registry.write(second, name="bob")
                sessions.rescan()

        sessions.subscribe(meddle)
        sessions.subscribe(
            lambda old, new: seen.append((old and old.pid, new and new.pid))
        )
        sessions.attach(asyncio.get_running_loop())
        sessions.detach()
        assert seen == [(None, first), (None, second)]

    run(main)


def test_detach_gives_every_descriptor_back(registry: Registry) -> None:
    """A daemon that attaches again must not leak, and misses no end meanwhile."""
    pid = registry.session("ada")
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("no /proc")

    def count() -> int:
        return len(list(descriptors.iterdir()))

    async def main() -> None:
        before = count()
        watched = Watched(registry.config)
        async with watched:
            assert count() == before + 2
        assert count() == before
        registry.kill(pid)
        registry.children[0].wait()
        async with watched:
            assert watched.shown() == [(None, "ada"), ("ada", None)]
        assert count() == before

    run(main)


def body(ident: str, **fields: str) -> Session:
    """A thread of another client, as whoever watches it tells of it."""
    return Session(pid=0, start=f"codex:{ident}", client="codex", **fields)


def test_a_body_without_a_record_lives_from_the_word_of_who_watches_it(
    registry: Registry,
) -> None:
    """Two of one client are two; a second word that says the same is no event."""

    async def main() -> None:
        async with Watched(registry.config) as watched:
            sessions = watched.sessions
            one, two = body("1", status="idle"), body("2")
            for each in (one, two, one):
                sessions.stand(each)
            assert sessions.by_ref(one.ref) == one
            assert sessions.by_ref(two.ref) == two
            assert len(watched.events) == 2
            sessions.stand(body("1", status="busy"))
            sessions.fall(two.ref)
            sessions.fall(two.ref)
            assert len(watched.events) == 4
            assert [each.status for each in sessions.bodies()] == ["busy"]
            assert sessions.by_ref(two.ref) is None
            assert sessions.live == {}

    run(main)


def test_whose_a_session_is_stands_in_its_identity() -> None:
    """A ledger line alone tells which client to ask."""
    assert body("1").ref.client == "codex"
    assert SessionRef(4711, "codex:1").client == CLAUDE
