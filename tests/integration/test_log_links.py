"""One message over two devices, as homi log follows it."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.linked import Pair, linked_pair
from tests.standin.place import Place, homi_command, until


class Following:
    """homi log -f --id, whose words go to files."""

    def __init__(self, place: Place, message: str) -> None:
        self.out, self.err = place.root / "followed", place.root / "noted"
        command = [*homi_command(), "log", "-f", "--json", "--id", message[-12:]]
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.run = subprocess.Popen(
                command, env=place.env(), stdout=out, stderr=err
            )

    def rungs(self, device: str) -> list[str]:
        """What a device told, in order; an empty one is this."""
        told = [json.loads(line) for line in _whole(self.out)]
        return [
            line["text"].rpartition("status=")[2]
            for line in told
            if line.get("device", "") == device and line["part"] == "ledger"
        ]

    def noted(self, text: str) -> None:
        """Wait until that was said of a device."""
        until(lambda: text in self.err.read_text(), text)


def _whole(path: Path) -> list[str]:
    return path.read_text().rpartition("\n")[0].splitlines()


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two devices whose link is up."""
    yield from linked_pair(["svc"], ["ada"])


def test_a_message_is_followed_to_where_it_was_read(pair: Pair) -> None:
    """What the other device tells comes with its name; that it tells nothing, and that
    it does again, is said once each."""
    laptop, mini = pair.laptop, pair.mini
    message = laptop.send("ada@mini", "over there")
    mini.stored("ada", "over there")
    log = Following(laptop, message)
    try:
        mini.kill()
        log.noted("homi: mini tells nothing of it (")
        with mini.session("ada", "--auto") as ada:
            mini.start()
            log.noted("homi: mini tells of it again")
            ada.letter("over there")
            until(lambda: "seen" in log.rungs("mini"), "that it was seen there")
        assert log.rungs("mini")[0] == "stored"
        assert "relayed" in log.rungs("")
        laptop.kill()
        log.noted("homi: mini tells nothing of it (no daemon runs)")
        assert log.run.poll() is None
    finally:
        log.run.terminate()
        log.run.wait(60)
    assert len(log.err.read_text().splitlines()) <= 5
