"""Mail for a name that is bound to a seat: typed where it is safe, held elsewhere."""

from pathlib import Path
from typing import Any

from homi.seats.server import Server
from homi.seats.view import State
from tests.integration.seatkit import Stand, argv, needs_tmux
from tests.standin.place import Place, until

pytestmark = needs_tmux


class Bound(Stand):
    """A seat that a service opened by the command, for the name gds."""

    def __init__(self, place: Place) -> None:
        """Open, bound, ready."""
        self.server = Server.of(place.state)
        self.log = place.work / "gds.log"
        self.log.touch()
        place.ok("claim", "gds")
        place.ok("seat", "spawn", "ada", "--client", "claude", "--", *argv(self.log))
        self.seat = self.server.find("ada")
        self.becomes(State.IDLE)
        place.ok("seat", "bind", "gds", "ada", "--relay")


def noting(place: Place) -> None:
    """A notifier that notes what it is told."""
    assert place.stop() == 0
    place.bin.mkdir(exist_ok=True)
    script = place.bin / "tell"
    log = place.root / "told"
    script.write_text(f'#!/bin/sh\nprintf "%s|%s\\n" "$2" "$3" >> {log}\n')
    script.chmod(0o755)
    (place.home / ".config" / "homi").mkdir(parents=True, exist_ok=True)
    with (place.home / ".config" / "homi" / "homi.toml").open("a") as config:
        config.write('notify = ["tell", "--"]\n')
    place.start()


def owner(place: Place) -> Any:  # noqa: ANN401 - what the command prints
    """Who has the name gds."""
    rows = place.json("ls")
    rows = rows if isinstance(rows, list) else [rows]
    return next(row for row in rows if row["name"] == "gds").get("owner")


def waits(place: Place, message: str, reason: str) -> None:
    """Wait until the ledger says last why it is not further, after a try now."""
    place.ok("queue", "flush", message)

    def shown() -> bool:
        lines = [x for x in place.lines("gds", "ledger") if x["id"] == message]
        return bool(lines) and lines[-1].get("reason") == reason

    until(shown, f"{message} waits: {reason}")


def test_mail_is_typed_once_the_seat_takes_a_line_and_stays_offered(
    place: Place,
) -> None:
    """Over a turn, a dialog and a half-typed line nothing is typed; then each letter
    in order, once, with its head and its quoted body."""
    noting(place)
    stand = Bound(place)
    first = place.send("gds", "the build is red\n/quit")
    place.reached("gds", first, "offered")
    text = stand.got("line")[0]
    assert text.startswith(f"[homi {first} from unverified, claims to be svc for gds; ")
    assert text.endswith("\n> the build is red\n> /quit")
    lines = [x for x in place.lines("gds", "ledger") if x["id"] == first]
    assert [x["rung"] for x in lines[:2]] == ["intent", "offered"], lines
    assert {x["rung"] for x in lines} == {"intent", "offered"}
    assert {x.get("leg", "seat") for x in lines} == {"seat"}

    stand.keys("work", "Enter")
    stand.becomes(State.BUSY)
    second = place.send("gds", "second")
    waits(place, second, "busy")
    # As one, here and below: a moment in which the seat is free is one to type in.
    stand.keys("Escape", "ask", "Enter")
    stand.becomes(State.APPROVAL)
    waits(place, second, "approval")
    told = place.root / "told"
    until(told.exists, "the person is told")
    stand.keys("Enter", "half")
    waits(place, second, "draft")
    assert len(stand.got("paste")) == 1
    stand.keys(*["BSpace"] * 4)
    stand.empty()
    place.ok("queue", "flush", second)
    place.reached("gds", second, "offered")
    assert stand.got("chose") == ["Yes"]
    assert told.read_text() == "gds waits for an approval|homi seat state ada\n"
    assert [line.split(" ")[1] for line in stand.got("line") if "homi" in line] == [
        first,
        second,
    ]
    stand.keys("bye", "Enter")
    until(lambda: owner(place) is None, "nobody has the name", step=0.3)
    place.send("gds", "third")
    place.ok("seat", "kill", "ada")
    assert stand.server.seats() == []


def test_a_session_with_a_record_of_its_own_comes_before_the_seat(
    place: Place,
) -> None:
    """What the client itself takes is proven; what is typed never is."""
    stand = Bound(place)
    until(lambda: owner(place), "the seat has the name", step=0.3)
    session = place.session("gds")
    until(lambda: (owner(place) or {}).get("pid") == session.pid, "the session has it")
    message = place.send("gds", "for the session")
    place.reached("gds", message, "offered")
    assert stand.got("paste") == []
    session.close()
    later = place.send("gds", "for the seat")
    place.reached("gds", later, "offered")
    assert len(stand.got("paste")) >= 1
    place.ok("seat", "bind", "gds", "--off")
    until(lambda: owner(place) is None, "nobody has the name", step=0.3)
    place.ok("seat", "kill", "ada")


def test_the_daemon_may_die_and_a_bound_seat_is_found_again(place: Place) -> None:
    """Seats are no children of the daemon: they and their screens stay."""
    stand = Bound(place)
    message = place.send("gds", "before")
    place.reached("gds", message, "offered")
    place.kill()
    assert "homi" in place.ok("seat", "read", "ada")
    assert Path(place.json("seat", "state", "ada")["row"]["cwd"]) == place.work
    refused = place.homi("seat", "send", "ada", "x")
    assert refused.returncode == 69
    assert "homi start" in refused.stderr
    place.start()
    until(lambda: owner(place), "the seat has the name", step=0.3)
    after = place.send("gds", "after")
    place.reached("gds", after, "offered")
    assert len(stand.got("paste")) == 2
    place.ok("seat", "kill", "ada")
