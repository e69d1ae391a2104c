"""Checks of stored mail, each failing on damage that was done to real files."""

import contextlib
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

from homi.clock import parse_rfc3339
from homi.doctor.check import Grade
from homi.doctor.mail import BEHIND, CHECKS, PERSON
from homi.envelope import Reason, Rung
from homi.reports import QueueRow
from homi.store.database import FILE
from homi.store.disk import RealDisk
from homi.store.index import Index
from homi.store.quarantine import Quarantine
from homi.store.ring import PAGE, Ring, frame
from tests.unit.doctor.breaks import shown
from tests.unit.doctor.kit import Given, bad, facts, fine, look, spool, told

ID = "0199f3a2-61b4-7c7e-9d0e-aaaa00000001"
AT = "2026-11-30T01:02:03.000Z"
DAY = 86_400.0


def letter(root: Path) -> Path:
    """One message for ada that nobody has; its inbox."""
    folder = root / "mail" / "ada"
    folder.mkdir(parents=True)
    line = {
        "v": 1,
        "seq": 1,
        "at": AT,
        "to": "ada",
        "via": {"door": "control", "uid": 1000, "pid": 7},
        "msg": {"id": ID, "from": "bob", "to": "ada", "text": "t"},
    }
    inbox = folder / "inbox.jsonl"
    inbox.write_text(json.dumps(line) + "\n")
    (folder / "ledger.jsonl").write_text("")
    return inbox


def test_a_damaged_line_is_told_with_its_file_and_offset(root: Path) -> None:
    """And the fix shows the line."""
    inbox = letter(root)
    fine(CHECKS, "journals", facts(root))
    offset = inbox.stat().st_size
    with inbox.open("a") as file:
        file.write('{"v":1,"se\xa0\n')
    found = shown("journals", bad(CHECKS, "journals", facts(root)))
    assert f"{inbox}: at offset {offset}: " in found.text
    command = found.hand.partition("; ")[2]
    seen = subprocess.run(["sh", "-c", command], capture_output=True, check=True)
    assert seen.stdout.startswith(b'{"v":1,"se')


def test_damage_of_the_ring_is_told_with_its_offset(root: Path) -> None:
    """Without a daemon, which reads it itself."""
    path = root / "ring"
    ring = Ring(RealDisk(), str(path), 64 * PAGE)
    ring.renew()
    ring.renewed()
    record = frame(b"mail/ada/inbox.jsonl", 1, b"{}\n", ring.generations[0])
    ring.write([record], len(record))
    ring.sync()
    ring.close()
    fine(CHECKS, "ring", facts(root))
    with path.open("r+b") as file:
        file.seek(PAGE + len(record) - 1)
        file.write(b"\0\0")
    row = shown("ring: damaged", bad(CHECKS, "ring", facts(root)))
    assert f"offset {PAGE}: " in row.text


def test_a_ring_of_another_size_than_the_settings_is_told(root: Path) -> None:
    fine(CHECKS, "ring", told(root, ring_mib=64))
    assert bad(CHECKS, "ring", told(root, ring_mib=8)).fix == "homi restart"


def test_an_index_that_is_far_behind_is_told_until_it_was_read(root: Path) -> None:
    """By the fix, as it is printed."""
    inbox = letter(root)
    fine(CHECKS, "index", facts(root))
    with inbox.open("ab") as file:
        file.write((b" " * 65_535 + b"\n") * (BEHIND // 65_536 + 1))
    row = shown("index: behind", bad(CHECKS, "index", facts(root)))
    assert row.fix.startswith("homi ")
    argv = [sys.executable, "-m", "homi", "--home", str(root), *row.fix.split()[1:]]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    fine(CHECKS, "index", facts(root))


def test_an_index_that_another_keeps_is_told_until_that_one_ends(root: Path) -> None:
    """Its own daemon lets it go after each step."""
    letter(root)
    with Index.open(root) as index:
        index.catch_up()
    with contextlib.closing(sqlite3.connect(root / FILE)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        shown("index: locked", bad(CHECKS, "index", facts(root)))
    fine(CHECKS, "index", facts(root))


def test_an_index_that_may_not_be_written_is_told_until_it_may(root: Path) -> None:
    """A folder in its place; another is made anew, whatever is in it."""
    letter(root)
    (root / FILE).write_bytes(b"no database" * 1000)
    fine(CHECKS, "index", facts(root))
    (root / FILE).unlink()
    (root / FILE).mkdir()
    row = shown("index: in the way", bad(CHECKS, "index", facts(root)))
    subprocess.run(["sh", "-c", row.fix], check=True)
    fine(CHECKS, "index", facts(root))


def test_what_waits_in_pickup_is_told_without_a_daemon_and_when_it_is_stale(
    root: Path,
) -> None:
    fine(CHECKS, "pickup", facts(root))
    path = spool(root)
    assert bad(CHECKS, "pickup", facts(root)).fix == "homi start"
    made = path.stat().st_mtime
    fine(CHECKS, "pickup", told(root, Given(now=made + 1)))
    found = bad(CHECKS, "pickup", told(root, Given(now=made + 100)))
    assert (found.grade, found.fix) == (Grade.FAIL, "homi restart")
    path.write_text("{}\n")
    assert bad(CHECKS, "pickup", told(root)).fix == "homi restart"


def test_what_is_in_quarantine_is_told_with_the_reason(root: Path) -> None:
    fine(CHECKS, "quarantine", facts(root))
    Quarantine(str(root), RealDisk()).refuse("bad-message", b"{", {})
    row = shown("quarantine", bad(CHECKS, "quarantine", facts(root)))
    assert "bad-message" in row.text


def test_mail_that_waits_for_more_than_a_day_is_told_by_name(root: Path) -> None:
    letter(root)
    came = parse_rfc3339(AT)
    fine(CHECKS, "oldest", facts(root, Given(now=came + DAY - 1)))
    found = bad(CHECKS, "oldest", facts(root, Given(now=came + 3 * DAY)))
    assert "the mailbox of ada, the oldest for 3d" in found.text


def test_what_only_a_person_lets_go_is_told_with_the_command(root: Path) -> None:
    def seen(reason: str) -> list[QueueRow]:
        return [QueueRow(name="ada", seq=1, id=ID, rung=Rung.PARKED, reason=reason)]

    fine(CHECKS, "holds", told(root, queue=seen("no-owner")))
    found = bad(CHECKS, "holds", told(root, queue=seen("loop")))
    assert (found.fix, f"homi continue {ID} lets" in found.hand) == ("", True)
    both = [*seen("loop"), *seen("loop"), *seen("scan")]
    rows = look(CHECKS, "holds", told(root, queue=both))
    assert [row.text.partition(" for ")[0] for row in rows] == [f"{ID} and 1 more", ID]
    for reason in PERSON:
        assert bad(CHECKS, "holds", told(root, queue=seen(reason)))
    assert Reason.PACED not in PERSON
