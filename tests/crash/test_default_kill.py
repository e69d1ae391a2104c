"""SIGKILL between the default answer of a question and the record that it expired."""

import signal

import pytest

from tests.integration.linked import key_of
from tests.integration.test_ask import Asking
from tests.standin.place import PATIENCE, Place, until

DEFAULT = (0, "no\n", "homi: nobody answered in time: this is the default\n")


@pytest.mark.parametrize("to", ["ada", "ada@mini"])
def test_a_default_is_given_once_though_the_daemon_dies_over_it(
    to: str,
) -> None:
    """Of a question to a name here, and of one to a device that nothing leads to: it
    is the same answer when it is written again."""
    with Place() as place, Place(device="mini") as mini:
        mini.state.mkdir(mode=0o700)
        place.start()
        for name in ("svc", "ada"):
            place.ok("claim", name)
        place.ok("link", "add", "mini", "--key", key_of(mini))
        assert place.stop() == 0
        daemon = place.start(HOMI_FAULT="before-ring:3")  # behind the question
        asking = Asking(place, to, "well?", "--deadline", "1", "--default", "no")
        assert daemon.wait(PATIENCE) == -signal.SIGKILL
        place.start()
        assert asking.end() == DEFAULT
        answers = [one["msg"] for one in place.lines("svc") if "text" in one["msg"]]
        assert [one["text"] for one in answers if one["kind"] == "reply"] == ["no"]
        folder = place.state / ("mail/ada" if to == "ada" else "out/mini")

        def ended() -> list[str]:
            lines = place.journal(folder / "ledger.jsonl")
            return [one["rung"] for one in lines if one["rung"] == "expired"]

        until(ended, "it expired")
        assert ended() == ["expired"]
