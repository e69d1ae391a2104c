"""SIGKILL of the daemon in the middle of an import, which is then done once more.

Each message is there once, what was finished was never pending, and what is exported
again is what was imported.
"""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from homi.ids import shape
from tests.standin.place import PATIENCE, Place

# Three requests one after the other, and dead in the second at the latest.
COUNT = 600
BATCH = 2


@pytest.fixture
def place() -> Iterator[Place]:
    """A private machine."""
    with Place() as made:
        yield made


def exported(path: Path) -> bytes:
    """Lines of an export: every third message is pending."""
    lines = []
    for number in range(1, COUNT + 1):
        rung = "seen" if number % 3 else "offered"
        msg = {"id": shape(number), "from": "bob", "to": "x", "text": f"text {number}"}
        at = "2025-11-30T10:00:00.000Z"
        line = {"v": 1, "at": at, "to": "x", "from": "", "rung": rung, "reason": None}
        line |= {"changed": at, "via": {"door": "peer", "uid": 7}, "msg": msg}
        lines.append(json.dumps(line, separators=(",", ":")) + "\n")
    data = "".join(lines).encode()
    path.write_bytes(data)
    return data


def test_an_import_that_was_cut_off_is_finished_by_another(place: Place) -> None:
    """And nobody is handed what was finished, in whatever moment the daemon dies."""
    place.start()
    place.ok("claim", "ada")
    assert place.stop() == 0
    daemon = place.start(HOMI_FAULT=f"after-lines:{BATCH}")
    wanted = exported(place.work / "a.jsonl")
    assert place.homi("import", "ada", "a.jsonl").returncode == 69
    assert daemon.wait(PATIENCE) == -signal.SIGKILL
    stored = len(place.lines("ada"))
    assert 0 < stored < COUNT
    place.start()
    done = json.loads(place.ok("import", "--json", "ada", "a.jsonl"))
    known = done["known"]
    assert (done["stored"], done["bad"]) == (COUNT - known, 0)
    assert known >= stored
    assert place.ok("export", "ada").encode() == wanted
    session = place.session("ada")
    offered = shape(3)
    place.reached("ada", offered, "offered")
    given = {line["id"] for line in place.lines("ada", "ledger")}
    assert not given & {shape(n) for n in range(1, COUNT + 1) if n % 3}
    assert session.pid
