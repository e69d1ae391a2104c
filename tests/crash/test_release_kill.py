"""SIGKILL of the daemon while it lets refused mail in again, and while it saves names.

A released letter is in a mailbox or in quarantine, at most in both, and is released
once more without being stored twice.
"""

import json
import re
import signal
import subprocess
from collections.abc import Iterator

import pytest

from homi.store.fault import COMMIT
from tests.crash.steps import steps
from tests.standin.place import PATIENCE, Place

COUNT = 5
# A stop and a start in between: which batch of a life is the release is known.
POINTS = [point for point in COMMIT if point != "evidence"]


@pytest.fixture
def place() -> Iterator[Place]:
    """A private machine."""
    with Place() as made:
        yield made


def entries(place: Place) -> list[str]:
    """The refused letters in quarantine; a torn line that was cut is none."""
    found = place.json("quarantine", "ls")
    rows = found if isinstance(found, list) else [found]
    return [one["id"] for one in rows if one["reason"] == "no-such-name"]


@pytest.mark.parametrize(
    "point", steps(POINTS, ["before-ring", "after-ring-sync", "before-answer"])
)
def test_a_kill_in_a_release_loses_and_doubles_no_letter(
    place: Place, point: str
) -> None:
    """Between the store's steps, and between the store and the removal."""
    place.start()
    place.ok("claim", "svc")
    for number in range(COUNT):
        refused = place.homi("send", "--from", "svc", "ada", f"letter {number}")
        assert refused.returncode == 67
    place.ok("claim", "ada")
    kept = entries(place)
    assert len(kept) == COUNT
    assert place.stop() == 0
    daemon = place.start(HOMI_FAULT=f"{point}:1")
    done = place.homi("quarantine", "release", *kept)
    assert done.returncode == 69
    assert daemon.wait(PATIENCE) == -signal.SIGKILL
    place.start()
    stored = {line["msg"]["text"] for line in place.lines("ada")}
    left = entries(place)
    assert len(stored) + len(left) >= COUNT
    if left:
        place.ok("quarantine", "release", *left)
    texts = sorted(line["msg"]["text"] for line in place.lines("ada"))
    assert texts == [f"letter {number}" for number in range(COUNT)]
    assert entries(place) == []


@pytest.mark.parametrize("turns", steps([3, 24], [3]))
def test_a_kill_while_names_are_saved_leaves_what_was_said(
    place: Place, turns: int
) -> None:
    """Aliases, settings and fronts: whatever was answered is there, in a whole file,
    and of the one under way all or nothing."""
    place.start()
    place.ok("claim", "ada")
    place.install()
    said: list[str] = []
    for turn in range(turns):
        lines = "".join(
            f"homi alias add a{turn}-{n} ada && echo a{turn}-{n}\n"
            f"homi set ada quiet=0{n % 10}:00-09:30 && echo set\n"
            f"homi claim --{'no-' if n % 2 else ''}front ada && echo front\n"
            for n in range(3)
        )
        shell = subprocess.Popen(
            ["sh", "-c", lines],
            env=place.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert shell.stdout is not None
        seen = [shell.stdout.readline() for _ in range(1 + turn % 8)]
        place.kill()
        seen += shell.stdout.read().splitlines(keepends=True)
        shell.stdout.close()
        shell.wait(PATIENCE)
        words = [line.decode().strip() for line in seen]
        said += [word for word in words if re.fullmatch(r"a\d+-\d", word)]
        place.start()
        state = json.loads((place.state / "names.json").read_text())
        assert "ada" in state["claims"]
        assert {word for word in said if word.startswith(f"a{turn}-")} <= set(
            state["aliases"]
        )
    assert place.json("status")["findings"] == []
    assert said
