"""Checks of the daemon, by what it says."""

import os
import socket
from pathlib import Path

import msgspec

from homi.address import Name
from homi.doctor.check import Grade
from homi.doctor.facts import Facts
from homi.doctor.service import CHECKS
from homi.paths import control_socket
from homi.setup import unit
from homi.spawn.state import Spawned, State
from homi.woken import WakeRow
from tests.unit.doctor.breaks import shown
from tests.unit.doctor.kit import Given, bad, facts, fine, look, told


def test_a_daemon_that_does_not_run_fails(root: Path) -> None:
    shown("daemon: dead", bad(CHECKS, "daemon", facts(root)))


def test_only_a_process_that_has_the_lock_is_told_to_be_killed(root: Path) -> None:
    """Its number may be another's by now, where the file is an old one."""
    (root / "homi.lock").write_text(f"{os.getpid()}\n")
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(control_socket(root)))
        silent.listen()
        with (root / "homi.lock").open():
            held = bad(CHECKS, "daemon", Facts(root, Given(), 0.05))
        stale = bad(CHECKS, "daemon", Facts(root, Given(), 0.05))
    assert held.fix == f"kill -9 {os.getpid()} && homi start"
    assert (stale.text, "kill" in stale.fix) == (
        held.text.removesuffix(f" (pid {os.getpid()})"),
        False,
    )


def test_a_daemon_of_another_version_is_told(root: Path) -> None:
    fine(CHECKS, "version", told(root))
    other = told(root, software="homi 0.0.9")
    assert bad(CHECKS, "version", other).fix == "homi restart"
    given = Given(python_of="/another/python")
    elsewhere = told(root, given, software="homi 0.0.9")
    shown("version: other", bad(CHECKS, "version", elsewhere))


def test_a_daemon_that_refuses_mail_fails_with_the_reason(root: Path) -> None:
    fine(CHECKS, "accept", told(root))
    found = bad(CHECKS, "accept", told(root, accept="the disk: EIO"))
    assert found.grade is Grade.FAIL
    assert "EIO" in found.text


def test_what_the_daemon_found_and_notes_is_told(root: Path) -> None:
    fine(CHECKS, "findings", told(root))
    left = told(root, findings=["inbox.jsonl, byte 0: x"])
    shown("findings: left", bad(CHECKS, "findings", left))
    path = root / "queue.jsonl"
    path.mkdir()
    shut = [f"{path}: unusable, and its mailbox with it: Is a directory"]
    shown("findings: shut", bad(CHECKS, "findings", told(root, findings=shut)))
    noted = told(root, notes=["peer: a folder is gone"])
    shown("findings: note", bad(CHECKS, "findings", noted))
    many = look(CHECKS, "findings", told(root, notes=["x"] * 40))
    assert (len(many), many[-1].text) == (6, "35 more of these")


def test_too_few_descriptors_are_told(root: Path) -> None:
    fine(CHECKS, "descriptors", told(root))
    few = told(root, Given(files=(10, 256)))
    assert bad(CHECKS, "descriptors", few).fix == "homi stop && homi start"
    low = told(root, Given(files=(10, 256), files_most=256))
    assert "ulimit" in bad(CHECKS, "descriptors", low).hand
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "systemd" / "user"
    folder.mkdir(parents=True)
    (folder / unit.NAME).write_text("")
    shown("descriptors: unit", bad(CHECKS, "descriptors", few))
    full = told(root, Given(files=(3900, 4096)))
    assert bad(CHECKS, "descriptors", full).grade is Grade.FAIL


def test_an_agent_that_does_not_come_up_is_told_with_why(root: Path) -> None:
    def put(failures: int) -> None:
        one = Spawned(
            name=Name("ada"),
            client="claude",
            cwd="/",
            starts=[1796000000.0] * failures,
            failures=failures,
            said="no such program" if failures else "",
        )
        state = {"v": 1, **msgspec.to_builtins(State(spawns={"ada": one}))}
        (root / "spawns.json").write_bytes(msgspec.json.encode(state))

    put(0)
    fine(CHECKS, "spawns", facts(root))
    put(9)
    found = bad(CHECKS, "spawns", facts(root))
    assert "no such program" in found.text
    assert found.fix == "homi respawn --now ada"


def test_a_wake_that_cannot_fire_is_told_with_its_fix(root: Path) -> None:
    def seen(failure: str, fix: str = "") -> list[WakeRow]:
        told_ = {
            "failure": failure,
            "fix": fix,
            "by": "person",
            "at": "",
            "state": "on",
        }
        return [WakeRow(id="w1", to="ada", from_="ada", trigger="--at", **told_)]

    fine(CHECKS, "wakes", told(root, wakes=seen("")))
    row = bad(CHECKS, "wakes", told(root, wakes=seen("x")))
    assert (row.fix, "homi wake rm w1" in row.hand) == ("homi wake run w1", True)
    mended = bad(CHECKS, "wakes", told(root, wakes=seen("x", "gh auth login")))
    assert (mended.fix, mended.hand) == ("homi wake run w1", "gh auth login")
