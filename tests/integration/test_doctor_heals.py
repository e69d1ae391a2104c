"""What the doctor says of a machine that was broken for real, and its fixes, typed."""

import hashlib
import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Iterator

import pytest

from homi.doctor.check import Grade, Row
from homi.seats.server import Server
from homi.store.database import FILE
from homi.store.ring import PAGE
from tests.integration.doctoring import Doctor, damage
from tests.integration.seatkit import needs_tmux
from tests.standin import claude
from tests.standin.driver import ROOT, Standin
from tests.standin.place import Place, until
from tests.unit.doctor.kit import spool

DAYS = 2 * 86_400.0 + 60

SETTINGS = """
device = "here"
ring = 8
reserve = 1
registries = ["~/.other"]
"""


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Doctor]:
    """At a machine with ada and bob, on which a daemon runs."""
    with Place(SETTINGS) as place:
        place.start()
        for name in ("ada", "bob"):
            place.ok("claim", name)
        place.send("ada", "first", sender="bob")
        yield Doctor(place, monkeypatch)
        place.homi("stop")


def test_one_start_heals_what_keeps_a_daemon_from_it(doctor: Doctor) -> None:
    """Each says so; what was set aside is told by the daemon, until the next start."""
    place, root = doctor.place, doctor.place.state
    place.kill()
    until(lambda: not place.answers(), "it is dead")
    damage(root / "ring", PAGE + 100)
    (root / "rooms.json").write_text('{"v":1,"ro')
    (root / "withheld.jsonl").mkdir()
    place.ok("send", "--from", "ada", "bob", "spooled")
    dead = ("daemon", "state", "layout", "ring")
    keys = ("daemon: dead", "state: damaged", "layout: file", "ring: damaged")
    rows = [doctor.shown(key) for key in keys]
    doctor.shown("pickup: waits")
    [spooled] = (root / "pickup").iterdir()
    spooled.write_text("{")
    os.utime(spooled, (1, 1))
    doctor.typed(doctor.shown("pickup: unfinished"))
    assert doctor.well("pickup")
    (root / f"{spooled.name}.aside").rename(spooled)
    spooled.write_text("{}\n")
    doctor.shown("pickup: unreadable")
    doctor.typed(rows[0])
    until(lambda: all(doctor.well(name) for name in (*dead, "pickup")), "all is well")
    doctor.typed(doctor.shown("findings: aside"))
    assert doctor.well("findings")
    doctor.shown("quarantine")
    ids = [row["id"] for row in place.json("quarantine", "ls")]
    dropped = Row(
        "quarantine", Grade.OK, "", "", f"homi quarantine drop {' '.join(ids)}"
    )
    doctor.typed(dropped, answer="y\n")
    assert doctor.well("quarantine")


def test_one_restart_heals_what_a_daemon_cannot_know_of(doctor: Doctor) -> None:
    """An older one, with another ring, without its socket, and with files in the
    place of which another hand put something."""
    place, root = doctor.place, doctor.place.state
    tree = place.root / "tree"
    shutil.copytree(ROOT / "homi", tree / "homi")
    version = tree / "homi" / "__init__.py"
    before = version.read_text()
    version.write_text(before.replace('"0.1', '"0.0'))
    place.stop()
    place.program = lambda: [sys.executable, "-m", "homi", "run"]  # type: ignore[method-assign]
    place.start(PYTHONPATH=str(tree))
    version.write_text(before)  # as an upgrade does
    os.utime(version, (1, 1))  # what was compiled a moment ago is not that
    toml = place.home / ".config" / "homi" / "homi.toml"
    toml.write_text(toml.read_text().replace("ring = 8", "ring = 9"))
    (root / "rooms.json").write_text('{"v":1,"ro')
    os.mkfifo(root / "withheld.jsonl")
    keys = (
        *("version", "ring: size", "state: damaged beside a daemon"),
        "layout: file beside a daemon",
    )
    rows = [doctor.shown(key) for key in keys]
    [ada] = [row for row in place.json("ls") if row["name"] == "ada"]
    with doctor.hanging():  # else it would take the one and bind the other at once
        os.utime(spool(root), (1, 1))
        os.unlink(ada["socket"])
        rows.append(doctor.shown("pickup: stale"))
        rows.append(doctor.shown("answers: own"))
        rows.append(doctor.shown("domains: own"))
    doctor.typed(rows[0])
    assert [one for row in rows for one in doctor.rows(row.check) if one.fix] == []


def test_a_daemon_that_hangs_or_takes_nothing_is_ended_and_started(
    doctor: Doctor,
) -> None:
    """And one that may open too few files; a restart would keep that bound."""
    place = doctor.place
    pid = place.json("status")["pid"]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    place.homi("send", "--from", "bob", "ada", "it is refused")
    row = doctor.shown("accept")
    most = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, most)  # by hand
    doctor.typed(row)
    assert doctor.well("accept")
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (256, 256))
    doctor.typed(doctor.shown("descriptors"))
    assert doctor.well("descriptors")
    with doctor.hanging():
        doctor.kept, doctor.patience = None, 0.1
        row = doctor.shown("daemon: hangs")
        doctor.typed(row)
    doctor.patience = 60.0
    assert doctor.well("daemon")


def test_mail_that_waits_and_files_that_are_no_use_are_told_until_the_fix_is_typed(
    doctor: Doctor,
) -> None:
    """Each fix is about the very thing that is told."""
    place, root = doctor.place, doctor.place.state
    [line] = place.lines("ada")
    place.ok("queue", "hold", line["msg"]["id"])
    doctor.shown("holds")
    place.ok("queue", "release", line["msg"]["id"])  # by hand, as all of these
    assert doctor.well("holds")
    doctor.shown("oldest", DAYS)
    place.ok("queue", "bounce", line["msg"]["id"])
    assert not any("ada" in row.text for row in doctor.rows("oldest", DAYS))
    (root / FILE).unlink()
    (root / FILE).mkdir()
    doctor.typed(doctor.shown("index: in the way"))
    assert doctor.well("index")
    blobs = root / "blobs"
    blobs.mkdir(mode=0o700)
    name = hashlib.sha256(b"x").hexdigest()
    (blobs / name).write_bytes(b"x")
    os.utime(blobs / name, (1, 1))
    doctor.shown("blobs: unnamed")
    place.ok("prune")
    assert doctor.well("blobs")
    (blobs / name).write_bytes(b"y")
    spool(root, text="names it", blobs=[name])
    place.stored("ada", "names it")
    doctor.typed(doctor.shown("blobs: damaged"))
    doctor.shown("blobs: missing")
    (blobs / name).write_bytes(b"x")  # by hand
    assert doctor.well("blobs")
    mailbox = root / "mail" / "eve"
    mailbox.write_text("")
    doctor.typed(doctor.shown("layout: mailbox"))
    assert doctor.well("layout")


def test_a_wake_that_failed_is_well_once_it_was_run(doctor: Doctor) -> None:
    """What it failed of is mended first."""
    place = doctor.place
    place.ok("wake", "add", "--from", "ada", "bob", "--every", "1h", "look")
    place.ok("release", "bob")
    failed = place.homi("wake", "run", place.json("wake", "ls")["id"])
    assert (failed.returncode, "no name bob" in failed.stderr) == (75, True)
    row = doctor.shown("wakes")
    place.ok("claim", "bob")
    doctor.typed(row)
    assert doctor.well("wakes")


def test_sessions_and_clients_are_told_until_the_fix_is_typed(doctor: Doctor) -> None:
    """A socket that is gone, a name that two have, records of another machine, a
    setting, and what was put into the files of the client."""
    place = doctor.place
    with place.session("eve") as eve, place.session("ada"):
        until(lambda: len(doctor.sessions()) == 2, "both are known")
        os.unlink(eve.socket)
        doctor.shown("answers: session")
        os.kill(eve.process.pid, signal.SIGTERM)
        until(lambda: doctor.well("answers"), "it is gone")
        other = place.env(CLAUDE_CONFIG_DIR=str(place.home / ".other"))
        with Standin(other, "ada", place.work):
            until(lambda: not doctor.well("names"), "both have the name")
            doctor.shown("names: twice")
        until(lambda: doctor.well("names"), "one is left")
    folder = place.home / ".claude"
    for number in ("8", "9"):
        record = {"pidDomain": "linux:another:pid:[1]", "messagingSocketPath": "/x"}
        (folder / "sessions" / f"{number}.json").write_text(json.dumps(record))
    doctor.shown("domains")
    for number in ("8", "9"):
        (folder / "sessions" / f"{number}.json").unlink()
    assert doctor.well("domains")
    with place.session("eve", "--restricted"):
        until(lambda: not doctor.well("answers"), "it is known")
        doctor.typed(doctor.shown("answers: none"))
        assert doctor.well("answers")
    servers = folder / ".claude.json"
    servers.write_text(servers.read_text().replace(str(place.bin), "/gone"))
    (folder / "settings.json").write_text("{}")
    doctor.shown("setup: entry")
    doctor.typed(doctor.shown("setup: program"))
    assert doctor.well("setup")


@needs_tmux
def test_an_agent_that_did_not_come_up_is_well_once_it_does(doctor: Doctor) -> None:
    """Its program is mended, then the fix is typed."""
    place = doctor.place
    claude.install(place.bin)
    place.ok("spawn", "carl", "--on-mail", "--cwd", str(place.work))
    assert place.stop() == 0
    file = place.state / "spawns.json"
    state = json.loads(file.read_text())
    state["spawns"]["carl"] |= {"failures": 9, "starts": [], "said": "it ended"}
    file.write_text(json.dumps(state))
    place.start()
    row = doctor.shown("spawns")
    try:
        doctor.typed(row)
        assert doctor.well("spawns")
    finally:
        server = Server.of(place.state)
        for seat in server.seats():
            server.kill(seat)
