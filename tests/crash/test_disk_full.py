"""A disk that fills up: refused with the reason, nothing lost, no restart needed."""

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.restarting import stands_still
from tests.standin.place import PATIENCE, Place, homi_command, until

RESERVE = 4 << 20
TEXT = "x" * 200_000


@pytest.fixture
def small() -> Iterator[Place]:
    """A place whose state root is a tmpfs of 64 MiB: ring 8 MiB, reserve 4 MiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    place = Place('device = "here"\nring = 8\nreserve = 4\n')
    place.state.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m,mode=0700", "none"]
    if subprocess.run([*mount, str(place.state)], check=False).returncode:
        place.close()
        pytest.skip("this machine lets nobody mount a tmpfs")
    try:
        with place:
            place.start()
            place.ok("claim", "svc")
            place.ok("claim", "ada")
            yield place
    finally:
        subprocess.run(["umount", "-l", str(place.state)], check=True)
        place.state.rmdir()


def fill(place: Place) -> tuple[list[str], dict[str, str]]:
    """Send until the first refusal: the acked ids, and the refusal."""
    acked: list[str] = []
    (place.work / "text").write_text(TEXT)
    for _ in range(400):
        done = place.homi("send", "--json", "--from", "svc", "ada", "-f", "text")
        if done.returncode:
            return acked, {"status": str(done.returncode), "text": done.stderr}
        acked.append(json.loads(done.stdout)["id"])
    raise AssertionError("400 messages of 200 kB fit on 64 MiB")


def ids(place: Place) -> list[str]:
    return [line["msg"]["id"] for line in place.lines("ada")]


def test_a_full_disk_refuses_new_mail_and_keeps_all_it_acknowledged(
    small: Place,
) -> None:
    """The reserve refuses before a write can fail; freed space is noticed."""
    ballast = Path(small.state) / "ballast"
    ballast.write_bytes(b"\0" * (40 << 20))
    acked, refusal = fill(small)
    assert len(acked) > 9
    assert refusal["status"] == "75"
    assert "reserve" in refusal["text"]
    assert ids(small) == acked
    # It goes on answering, and takes an ack: a decision needs room too.
    assert "ada" in small.ok("ls")
    ballast.unlink()

    def room() -> bool:
        done = small.homi("send", "--from", "svc", "ada", "small again")
        return done.returncode == 0

    until(room, "freed space lets mail in without a restart")
    small.kill()
    small.start()
    assert ids(small)[: len(acked)] == acked


def test_a_restart_on_a_full_disk_takes_no_daemon_down(small: Place) -> None:
    """Not even its own end can be written down, and it is up again all the same."""
    message = small.send("ada", "before")
    ballast = (small.state / "ballast").open("wb", buffering=0)
    with ballast, contextlib.suppress(OSError):
        while True:
            ballast.write(b"\0" * 4096)
    small.ok("restart")
    assert ids(small) == [message]


def test_a_disk_filled_by_another_mid_append_loses_nothing(small: Place) -> None:
    """The neighbour takes even the reserve: a write after the ring's sync fails, the
    sender is refused, and once space returns the same id is stored once."""
    small.send("ada", "before")
    assert small.stop() == 0
    daemon = small.start(HOMI_FAULT="after-ring-sync:1:stop")
    (small.work / "text").write_text(TEXT)
    order = ("send", "--from", "svc", "--key", "k1", "ada", "-f", "text")
    refused = subprocess.Popen(
        [*homi_command(), *order], env=small.env(), cwd=small.work
    )
    until(lambda: stands_still(daemon.pid), "its record is in the ring")
    ballast = small.state / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    daemon.send_signal(signal.SIGCONT)
    assert refused.wait(PATIENCE) in (74, 75)
    assert len(ids(small)) == 1
    full = r"\tspace\t0 MiB are free, new mail is refused below 4\t-\tfree 16 MiB"
    assert re.search("FAIL" + full, small.homi("doctor", "--quick").stdout)
    # What the ring alone holds cannot be brought to the mailbox at a start, either.
    restarted = small.homi("restart")
    assert restarted.returncode == 69, restarted
    assert "no homi could start" in restarted.stderr
    assert len(ids(small)) == 1
    ballast.unlink()

    def stored() -> bool:
        return small.homi(*order).returncode == 0

    until(stored, "the same id is stored once space returned")
    assert "OK\tspace\t" in small.homi("doctor", "--quick").stdout
    small.kill()
    small.start()
    found = ids(small)
    assert len(found) == 2
    assert len(set(found)) == 2
