"""Real clients on two devices, paired over a real sshd: each by its own tool.

Each device is a network namespace with a home, a registry and a model API of its own;
only the daemons, outside of both, are joined.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from homi.seats.server import Server
from tests.cli.run import at_terminal
from tests.clients.conftest import Post
from tests.clients.harness import Claude
from tests.clients.test_claude import END, address, mail, send_to
from tests.clients.test_spawn import install, known, listed
from tests.standin import sshd
from tests.standin.place import until
from tests.standin.sshd import Sshd

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]


class Devices(NamedTuple):
    """writer is a session on laptop; reviewer a name of mini that laptop lists."""

    laptop: Post
    mini: Post
    server: Sshd

    def link(self) -> dict[str, Any]:
        """How the link is, by the word of the laptop."""
        return dict(self.laptop.json("link", "ls", "--no-probe"))


@pytest.fixture(scope="module")
def devices() -> Iterator[Devices]:
    """Paired by `homi pair`, mirrored, each with a session."""
    sshd.need()
    with contextlib.ExitStack() as ends:
        made = {}
        for device in ("laptop", "mini"):
            claude = Claude()
            ends.callback(claude.down)
            claude.up()
            made[device] = Post(claude, device)
            ends.callback(made[device].end)
            install(claude, "claude", [str(claude.bin / "claude")])
            made[device].start(PATH=f"{claude.state / 'inside'}:{claude.env()['PATH']}")
            ends.callback(claude.end_all)
        laptop, mini = made["laptop"], made["mini"]
        server = ends.enter_context(Sshd(mini))
        server.reach(laptop)
        mini.ok("claim", "reviewer")
        laptop.ok("pair", "mini")
        laptop.ok("link", "add", "mini", "--mirror")
        laptop.listed("reviewer")
        laptop.claude.start("writer")
        mini.claude.start("reviewer")
        yield Devices(laptop, mini, server)


def test_sessions_of_two_devices_write_and_answer_by_their_own_tools(
    devices: Devices,
) -> None:
    """A mirrored name one way, the letter's own address the other; both are turns."""
    laptop, mini, _ = devices
    send_to(laptop.claude, "writer", "reviewer", "what is the state of alpha")
    turn = mini.claude.given("reviewer", "state of alpha")
    assert turn.startswith("Another Claude session sent a message:")
    assert 'from-name="writer@laptop"' in turn
    message = mini.stored("reviewer", "state of alpha")["msg"]["id"]
    mini.reached("reviewer", message, "seen", 30)
    send_to(mini.claude, "reviewer", address(turn), "alpha is green")
    answer = laptop.claude.given("writer", "alpha is green")
    assert answer.startswith("Another Claude session sent a message:")
    assert 'from-name="reviewer@mini"' in answer


def test_a_cut_link_keeps_what_a_session_sent_and_its_answer_comes_when_it_heals(
    devices: Devices,
) -> None:
    """For its own tool the letter is sent: it stands in a queue, which says why."""
    laptop, mini, server = devices
    server.down()
    server.cut()
    until(lambda: devices.link()["state"] != "up", "the link is down")
    send_to(laptop.claude, "writer", "reviewer", "what is the state of beta")
    assert laptop.json("queue", "@mini")["reason"] == "link-down"
    server.up()
    laptop.ok("link", "resume", "mini")
    turn = mini.claude.given("reviewer", "state of beta")
    send_to(mini.claude, "reviewer", address(turn), "beta is red")
    assert laptop.claude.given("writer", "beta is red")


def test_a_conversation_goes_on_where_its_name_moved_to(devices: Devices) -> None:
    """Resumed there by homi, in a folder of another path: mail for the name here is a
    turn of it, behind all that was said before; its answer comes back here."""
    laptop, mini, _ = devices
    laptop.ok("claim", "ada")
    laptop.claude.start("ada")
    laptop.claude.say("ada", "the magic word is plover", {"text": "I keep plover"})
    laptop.ok("claim", "svc")
    before = laptop.send("ada", "read at home")
    laptop.reached("ada", before, "seen", 30)
    laptop.claude.status("ada", "idle")
    laptop.claude.end("ada")
    there = str(mini.claude.work)
    done = laptop.json("move", "ada", "mini", "--cwd", there, "--spawn")
    assert (done["done"], done["plan"]["conversation"]) == (
        "moved",
        laptop.claude.ids["ada"],
    )
    row = until(lambda: (r := listed(mini, "ada"))["state"] == "ready" and r, "", 60)
    assert row["argv"] == ["--resume", laptop.claude.ids["ada"]]
    known(mini.claude, "ada", row["pid"])
    laptop.listed("ada")
    send_to(laptop.claude, "writer", "ada", "say it")
    turn = mini.claude.given("ada", "say it")
    for said in ("the magic word is plover", "I keep plover", "read at home"):
        assert mini.claude.asked(said), f"{said} is not in what its model is given"
    message = mini.stored("ada", "say it")["msg"]["id"]
    mini.reached("ada", message, "seen", 30)
    mini.claude.push("ada", mail(address(turn), "plover"), END)
    mini.ok("seat", "wait", "ada", "--timeout", "30")
    words = ["seat", "send", "ada", "answer it"]
    assert at_terminal(mini.env(), mini.work, words, screen=False).returncode == 0
    assert laptop.claude.given("writer", "plover")
    words = ["unspawn", "--end", "ada"]
    assert at_terminal(mini.env(), mini.work, words, screen=False).returncode == 0
    until(lambda: Server.of(mini.state).seats() == [], "no seat is left", 30)
    del mini.claude.pids["ada"]
