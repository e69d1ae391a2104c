"""One device: claim, send, deliver, kill, hold, recover."""

import os
import signal

from tests.demo.scene import Scene, short
from tests.standin.driver import Standin
from tests.standin.place import Place, until

NAME = "gds-agent"


class OneDevice:
    """The first part; each step asserts what it shows."""

    def __init__(self, scene: Scene, place: Place) -> None:
        """Nothing started yet."""
        self.scene = scene
        self.place = place

    def homi(self, *argv: str) -> str:
        """Run a homi command in the open."""
        return self.scene.homi(self.place, *argv)

    def send(self, text: str) -> str:
        """Mail the name; the message's id."""
        return self.scene.send(self.place, NAME, text)

    def session(self, *options: str) -> Standin:
        """Start a session called NAME."""
        return self.scene.session(self.place, NAME, *options)

    def reached(self, message: str, rung: str) -> None:
        """Wait for the evidence in the ledger."""
        self.place.reached(NAME, message, rung)
        rungs = " → ".join(["stored", *self.place.rungs(NAME, message)])
        self.scene.show(f"ledger of {short(message)}: {rungs}")

    # ---- the story ----

    def tell(self) -> None:
        """All of it; the postmaster still runs at the end."""
        self.begin()
        first = self.send_and_deliver()
        second, third = self.kill_and_hold(first)
        self.recover(first, second, third)

    def begin(self) -> None:
        """A postmaster and a name."""
        self.scene.say("Start the postmaster and claim a name.")
        self.homi("start")
        self.homi("claim", NAME)
        record = self.place.planted(NAME)
        assert record is not None, "the name is in the agents' own registry"
        self.scene.show("agents now list it, and their own tools can write to it")

    def send_and_deliver(self) -> str:
        """Kept with nobody home, handed over as a turn, answered."""
        self.scene.say("Send with nobody home: the mail is kept.")
        first = self.send("please run the tests in module alpha")

        self.scene.say(
            "A session of that name starts: what was kept is its first turn."
        )
        agent = self.session("--auto", "--reply", "all 212 tests pass")
        letter = agent.letter("please run the tests")
        self.scene.show(letter["text"])
        assert letter["msg_id"] == first, "the turn carries the message's own id"
        self.reached(first, "seen")
        assert "offered" in self.place.rungs(NAME, first)

        self.scene.say("Its reply, sent by its own tool, comes back to you.")
        reply = self.place.stored("owner", "all 212 tests pass")["msg"]
        self.homi("inbox", "--brief")
        assert reply["from"] == NAME, reply
        return first

    def kill_and_hold(self, first: str) -> tuple[str, str]:
        """Nobody home, then not even a postmaster, and mail all the same."""
        self.scene.say("Kill the session: the next mail is held.")
        agent = self.place.sessions[-1]
        self.scene.run(self.place, f"kill -9 {agent.pid}")
        agent.kill()
        until(lambda: self.place.planted(NAME), "homi holds the name again")
        second = self.send("and now module beta")
        self.homi("inbox", NAME)

        self.scene.say("Kill the postmaster too, and send while it is down.")
        pid = int(self.place.json("status")["pid"])
        self.scene.run(self.place, f"kill -9 {pid}")
        os.kill(pid, signal.SIGKILL)
        until(lambda: not self.place.answers(), "the daemon is dead")
        third = self.send("and module gamma")

        self.scene.say("Start it again: nothing is lost.")
        self.homi("start")
        self.place.stored(NAME, "and module gamma")
        self.homi("inbox", NAME)
        kept = [line["msg"]["id"] for line in self.place.lines(NAME)]
        assert kept == [first, second, third], kept
        return second, third

    def recover(self, first: str, second: str, third: str) -> None:
        """The next session has all of it, and it can be looked up."""
        self.scene.say("The next session of that name gets all of it, in order.")
        heir = self.session("--auto")
        for message in (second, third):
            self.reached(message, "seen")
        told = [letter["msg_id"] for letter in heir.letters()]
        assert told == [second, third], told
        assert first not in told, "what was seen is not given twice"

        self.scene.say("Where one message has been.")
        assert "seen" in self.homi("trace", short(second))
        heir.exit()
