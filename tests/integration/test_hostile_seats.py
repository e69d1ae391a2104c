"""Devices that ask for seats what none may ask, over a link: no key of it is typed.

Each is refused with its reason, and the link goes on.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from homi.doors.farseats import LINES_MAX, OPTION_MAX, TEXT_MAX
from homi.links.identity import Identity
from homi.seats.view import State
from tests.cli.run import at_terminal
from tests.integration.linked import key_of, place
from tests.integration.seatkit import needs_tmux
from tests.integration.test_far_seats import There
from tests.standin.place import Place
from tests.standin.rogue import Json, Rogue, letter

pytestmark = needs_tmux

# What is asked, and the code of its refusal.
REFUSED: list[tuple[Json, str]] = [
    ({"do": "send", "seat": "ada@attic", "text": "x"}, "usage"),
    ({"do": "send", "seat": "ada@mini", "text": "x"}, "usage"),
    ({"do": "send", "seat": "", "text": "x"}, "usage"),
    ({"do": "send", "seat": "../ada", "text": "x"}, "usage"),
    ({"do": "send", "seat": "=ada", "text": "x"}, "usage"),
    ({"do": "send", "seat": "ada:0.0", "text": "x"}, "usage"),
    ({"do": "send", "seat": "%0 ; kill-server", "text": "x"}, "usage"),
    ({"do": "send", "seat": "%0\n", "text": "x"}, "usage"),
    ({"do": "send", "seat": "%" + "9" * 100_000, "text": "x"}, "usage"),
    ({"do": "send", "seat": "%٣", "text": "x"}, "usage"),
    ({"do": "send", "seat": "%999999999", "text": "x"}, "no-input"),
    ({"do": "send", "seat": "%0.1.1", "text": "x"}, "no-input"),
    ({"do": "send", "seat": "bob", "text": "x"}, "no-input"),
    ({"do": "read", "seat": "ada@attic"}, "usage"),
    ({"do": "ls", "seat": "ada"}, "usage"),
    ({"do": "send", "seat": "ada", "text": ""}, "bad-message"),
    ({"do": "send", "seat": "ada", "text": "\x03\x1b\r\n"}, "bad-message"),
    ({"do": "send", "seat": "ada", "text": "x\x1b[201~/quit\r"}, "bad-message"),
    ({"do": "send", "seat": "ada", "text": "x\x9b201~/quit\r"}, "bad-message"),
    ({"do": "send", "seat": "ada", "text": "x" * (TEXT_MAX + 1)}, "bad-message"),
    ({"do": "send", "seat": "ada", "text": 7}, "usage"),
    ({"do": "send", "seat": ["ada"], "text": "x"}, "usage"),
    ({"do": "kill", "seat": "ada"}, "usage"),
    ({"do": "spawn", "seat": "eve"}, "usage"),
    ({"do": "bind", "seat": "ada"}, "usage"),
    ({"do": "", "seat": "ada"}, "usage"),
    ({"seat": "ada", "text": "x"}, "usage"),
    ({"do": ["send"], "seat": "ada", "text": "x"}, "usage"),
    ({"do": "respond", "seat": "ada", "option": "1"}, "no-input"),
    ({"do": "respond", "seat": "ada", "option": ""}, "no-input"),
    ({"do": "respond", "seat": "ada", "option": "x" * (OPTION_MAX + 1)}, "usage"),
    ({"do": "respond", "seat": "ada", "option": 1}, "usage"),
    ({"do": "read", "seat": "ada", "lines": -1}, "usage"),
    ({"do": "read", "seat": "ada", "lines": LINES_MAX + 1}, "usage"),
    ({"do": "read", "seat": "ada", "lines": 10**30}, "usage"),
]
FLOOD = 200  # questions that nobody waits for


class Scene:
    """mini, which is paired with evil and has the seat ada."""

    def __init__(self, mini: Place, root: Path) -> None:
        """evil is granted nothing yet."""
        self.mini = mini
        mini.state.mkdir(mode=0o700)
        key_of(mini)
        mini.start()
        mini.ok("claim", "ada")
        (root / "evil").mkdir(mode=0o700)
        self.key = Identity.load(root / "evil")
        mini.ok("link", "add", "evil", "--key", self.key.public)
        self.ada = There(mini)

    def evil(self) -> Rogue:
        """That device, proven."""
        made = Rogue(self.mini, "evil", self.key)
        assert not made.ended, made.ended
        return made

    def grant(self) -> None:
        """A person lets it drive seats."""
        words = ["link", "add", "evil", "--allow-seats"]
        done = at_terminal(self.mini.env(), self.mini.work, words, screen=False)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """The daemon lives to the end."""
    with place("mini", 600) as mini:
        made = Scene(mini, tmp_path)
        try:
            yield made
            assert mini.daemon is not None
            assert mini.daemon.poll() is None
        finally:
            mini.homi("seat", "kill", "ada")


def asks(evil: Rogue, number: int, fields: Json) -> Json:
    """The answer to one question about seats."""
    req = {"f": "req", "i": number, "verb": "seat"} | fields
    evil.say(json.dumps(req).encode())
    return evil.frame("res")


def test_what_no_device_may_ask_of_a_seat_types_nothing_and_ends_no_link(
    scene: Scene,
) -> None:
    """Without the grant all of it is the same refusal; with it each has its own."""
    with scene.evil() as evil:
        for number, (fields, _) in enumerate([*REFUSED, ({"do": "ls"}, "")], 1):
            told = asks(evil, number, fields)
            assert (told["i"], told["error"]["code"]) == (number, "not-allowed"), told
            assert "not granted seats here" in told["error"]["text"]
    scene.grant()
    with scene.evil() as evil:
        for number, (fields, code) in enumerate(REFUSED, 1):
            told = asks(evil, number, fields)
            case = (str(fields)[:80], told)
            assert told["f"] == "res", case
            assert (told["i"], told["error"]["code"]) == (number, code), case
            assert len(json.dumps(told)) < 2_000, case
        assert asks(evil, 100, {"do": "ls", "device": "attic"})["ok"]["rows"]
        assert scene.ada.state() is State.IDLE
        assert scene.ada.log.read_text() == ""
        sent = asks(evil, 101, {"do": "send", "seat": "ada", "text": "a\x1b[31mb\x03"})
        assert sent["ok"]["done"]["gone"]  # the control: typed, without its controls
        assert scene.ada.got("line") == ["a[31mb"]
        # No text at all: what holds it is no frame.
        ended = asks(evil, 102, {"do": "send", "seat": "ada", "text": "\ud800"})
        assert (ended["f"], ended["reason"]) == ("bye", "protocol")
    assert len(scene.ada.got("line")) == 1


def test_a_flood_of_questions_about_seats_is_answered_and_costs_no_mail(
    scene: Scene,
) -> None:
    """Two at a time; the others are told so, and try again if they like."""
    scene.grant()
    with scene.evil() as evil:
        req = b'{"f":"req","i":%d,"verb":"seat","do":"read","seat":"ada"}'
        evil.say(*(req % number for number in range(1, FLOOD + 1)))
        found = [evil.frame("res") for _ in range(FLOOD)]
        assert {each["i"] for each in found} == set(range(1, FLOOD + 1))
        late = [each["error"] for each in found if "error" in each]
        assert {each["reason"] for each in late} == {"busy"}
        assert len(late) < FLOOD
        assert evil.mail(letter(), "ada@mini").get("not") is None
    assert scene.ada.log.read_text() == ""
