"""The index and closed segments beside a real daemon: killed, damaged, shared, no room.

Whatever becomes of index.sqlite3, every command tells the same of the mail.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from homi.store.fault import CLOSING, INDEXING
from tests.crash.steps import steps
from tests.standin.place import PATIENCE, Place, homi_command, until

COUNT = 60
FILE = "index.sqlite3"
ALL = ("--limit", "999")
SMALL = """
import sys
from homi.store import upkeep, words
upkeep.SEGMENT, upkeep.FIRST, words.STEP = 8000, 0.05, 7
sys.argv = ["homi", "run"]
from homi.cli.fast import main
sys.exit(main())
"""


class Segmented(Place):
    """A place whose daemon closes segments that are small."""

    def program(self) -> list[str]:
        """The daemon, with another constant."""
        return [sys.executable, "-c", SMALL]


@pytest.fixture
def place() -> Iterator[Segmented]:
    """A private machine."""
    with Segmented() as made:
        yield made


def fill(place: Place, first: int, *, finished: bool) -> list[str]:
    """So many letters more for ada; their ids."""
    lines = "".join(f"pear {n}\n" for n in range(first, first + COUNT))
    told = place.ok("send", "--lines", "--json", "--from", "svc", "ada", given=lines)
    sent = [json.loads(line)["id"] for line in told.splitlines()]
    if finished:
        place.ok("ack", "--name", "ada", *sent)
    return sent


def closed(place: Place) -> list[Path]:
    """The journals in the archive of ada."""
    return sorted((place.state / "mail" / "ada" / "archive").glob("*.jsonl"))


def pending(place: Place) -> int:
    """How much mail waits for ada, by the daemon."""
    return int(next(one for one in place.json("ls") if one["name"] == "ada")["pending"])


def told(place: Place) -> list[tuple[str, bool]]:
    """All mail of ada by the command that asks the index: id, and whether it is
    finished."""
    listed = place.json("inbox", "--all", *ALL, "ada")
    return [(one["id"], one["rung"] == "seen") for one in listed]


# Each step of it is died at over a simulated disk, too.
@pytest.mark.parametrize("point", steps(CLOSING, ["archive-inbox"]))
def test_a_kill_while_a_segment_is_closed_loses_nothing(
    place: Segmented, point: str
) -> None:
    """The next start finishes it, all mail is told of once, sequences go on."""
    place.start()
    for name in ("ada", "svc"):
        place.ok("claim", name)
    assert place.stop() == 0
    daemon = place.start(HOMI_FAULT=f"{point}:1")
    sent = fill(place, 0, finished=True)
    assert daemon.wait(PATIENCE) == -signal.SIGKILL
    place.start()
    until(lambda: len(closed(place)) == 2, "the segment is closed")
    assert told(place) == [(one, True) for one in sent]
    more = place.send("ada", "one more")
    assert place.stored("ada", "one more")["seq"] == COUNT + 1
    assert told(place)[-1][0] == more
    assert place.json("status")["findings"] == []


@pytest.mark.parametrize("point", steps(INDEXING, ["words-written"]))
def test_a_kill_while_words_are_indexed_leaves_them_to_the_next_life(
    place: Segmented, point: str
) -> None:
    """All of a step is in the index, or nothing; each message is found once."""
    place.start()
    for name in ("ada", "svc"):
        place.ok("claim", name)
    assert place.stop() == 0
    daemon = place.start(HOMI_FAULT=f"{point}:3")
    sent = fill(place, 0, finished=False)
    assert daemon.wait(PATIENCE) == -signal.SIGKILL
    assert 0 < worded(place) < COUNT
    place.start()
    until(lambda: worded(place) == COUNT, "all words are indexed")
    found = place.json("search", *ALL, "pear")
    assert sorted(one["id"] for one in found) == sorted(sent)


def worded(place: Place) -> int:
    """How many messages have their words in the index."""
    with contextlib.closing(sqlite3.connect(place.state / FILE)) as db:
        found = db.execute("SELECT count(*) FROM words WHERE words MATCH 'pear'")
        return int(found.fetchone()[0])


def _hurt(path: Path, seed: int) -> None:
    """Some flipped bits, or a cut."""
    dice, data = random.Random(seed), bytearray(path.read_bytes())
    if seed % 3 == 0:
        del data[dice.randrange(len(data)) :]
    for _ in range(20):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)


def _version(path: Path) -> None:
    """A later homi made it."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA user_version=9")


CHANGES: dict[str, Callable[[Path, Path], object]] = {
    "flipped bits": lambda path, _: _hurt(path, 1),
    "a cut": lambda path, _: _hurt(path, 3),
    "another version": lambda path, _: _version(path),
    "empty": lambda path, _: path.write_bytes(b""),
    "a copy from before": lambda path, old: shutil.copy(old, path),
    "gone": lambda path, _: path.unlink(),
}


@pytest.mark.parametrize(
    "change",
    steps(CHANGES.values(), ["flipped bits", "a copy from before"], CHANGES),
)
def test_a_daemon_and_its_commands_do_without_a_good_index(
    place: Segmented, change: Callable[[Path, Path], object]
) -> None:
    """Started over it, and beside it: the same mail, pending mail, words and ids."""
    place.start()
    for name in ("ada", "svc"):
        place.ok("claim", name)
    sent = fill(place, 0, finished=True)
    until(lambda: len(closed(place)) == 2, "the segment is closed")
    place.ok("search", *ALL, "pear")
    assert place.stop() == 0
    old = place.work / "old"
    shutil.copy(place.state / FILE, old)
    place.start()
    sent += fill(place, COUNT, finished=False)
    want = told(place)
    assert [one for one, _ in want] == sent
    assert place.stop() == 0
    place.ok("search", *ALL, "pear")
    for end in ("-wal", "-shm"):
        (place.state / (FILE + end)).unlink(missing_ok=True)
    change(place.state / FILE, old)
    place.start()
    assert pending(place) == COUNT
    again = place.ok("import", "--json", "ada", given=place.ok("export", "ada"))
    assert '"stored":0' in again.replace(" ", "")
    assert told(place) == want
    assert len(place.json("search", *ALL, "pear")) == 2 * COUNT
    assert place.json("status")["findings"] == []


def test_journals_that_are_behind_the_index_are_believed(place: Segmented) -> None:
    """A mailbox put back from a backup of before: its mail is what is told."""
    place.start()
    for name in ("ada", "svc"):
        place.ok("claim", name)
    sent = fill(place, 0, finished=True)
    until(lambda: len(closed(place)) == 2, "the segment is closed")
    assert place.stop() == 0
    shutil.copytree(place.state / "mail", place.work / "mail")
    place.start()
    fill(place, COUNT, finished=False)
    assert len(told(place)) == 2 * COUNT
    assert place.stop() == 0
    shutil.rmtree(place.state / "mail")
    shutil.copytree(place.work / "mail", place.state / "mail")
    assert [one for one, _ in told(place)] == sent
    place.start()
    assert pending(place) == 0
    assert [one for one, _ in told(place)] == sent
    assert place.homi("search", *ALL, "pear").stdout.count("\n") == COUNT


def test_commands_index_beside_a_daemon_that_indexes(place: Segmented) -> None:
    """Two writers of one file: each command sees all that was stored before it."""
    place.start()
    for name in ("ada", "svc"):
        place.ok("claim", name)
    sent: list[str] = []
    for turn in range(3):
        sent += fill(place, turn * COUNT, finished=turn % 2 == 0)
        running = [
            subprocess.Popen(
                [*homi_command(), *argv],
                env=place.env(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for argv in (["search", *ALL, "pear"], ["inbox", "--all", *ALL, "ada"])
        ]
        for one in running:
            out, err = one.communicate(timeout=PATIENCE * 2)
            assert (one.returncode, err) == (0, b"")
            assert out.count(b"\n") == len(sent)
    assert [one for one, _ in told(place)] == sent


@pytest.fixture
def mounted(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A state root of its own file system, of so many MiB."""
    if os.geteuid() != 0:
        pytest.skip("a mount needs root")
    made = Place('device = "here"\nring = 1\nreserve = 1\n')
    made.state.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}m,mode=0700", "none"]
    if subprocess.run([*mount, str(made.state)], check=False).returncode:
        made.close()
        pytest.skip("this machine lets nobody mount a tmpfs")
    try:
        with made:
            made.start()
            for name in ("ada", "svc"):
                made.ok("claim", name)
            yield made
    finally:
        subprocess.run(["umount", "-l", str(made.state)], check=True)
        made.state.rmdir()


@pytest.mark.parametrize("mounted", [16], indirect=True)
def test_a_root_that_cannot_be_written_is_read_all_the_same(mounted: Place) -> None:
    """With an index that is behind, without one, and with a spooled letter."""
    sent = fill(mounted, 0, finished=False)
    want = [(one, False) for one in sent]
    assert mounted.stop() == 0
    mounted.ok("send", "--from", "svc", "ada", "this one is spooled")
    for gone in (False, True):
        if gone:
            for path in mounted.state.glob(f"{FILE}*"):
                path.unlink()
        _remount(mounted, "ro")
        try:
            assert told(mounted) == want
            found = mounted.homi("search", *ALL, "pear")
            assert (found.returncode, found.stdout.count("\n")) == (0, COUNT)
        finally:
            _remount(mounted, "rw")


@pytest.mark.parametrize("mounted", [16], indirect=True)
def test_a_full_disk_has_no_room_for_an_index_and_mail_is_read(mounted: Place) -> None:
    """An index in memory stands in; a daemon starts; room is used when it is there."""
    fill(mounted, 0, finished=False)
    want = told(mounted)
    assert mounted.stop() == 0
    for path in mounted.state.glob(f"{FILE}*"):
        path.unlink()
    ballast = mounted.state / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()
    assert told(mounted) == want
    found = mounted.homi("search", *ALL, "pear")
    assert (found.returncode, found.stdout.count("\n")) == (0, COUNT)
    ballast.unlink()
    mounted.start()
    assert pending(mounted) == COUNT
    assert told(mounted) == want
    assert (mounted.state / FILE).stat().st_size > 0


def _remount(place: Place, how: str) -> None:
    """Let the state root be ro or rw."""
    command = ["mount", "-o", f"remount,{how}", str(place.state)]
    subprocess.run(command, check=True)
