"""make demo: the whole promise once, visibly, on a private machine of its own.

Every step prints the command it runs and what came of it.  A step that does not hold
ends the demo with status 1.  The session is a stand-in that speaks the agent
client's real contract; daemon, command line and files are homi itself.
"""

import contextlib
import os
import signal
import sys
import textwrap
import time

from tests.standin.driver import Standin
from tests.standin.place import Place, until

NAME = "gds-agent"


class Demo:
    """The steps, in order; each asserts what it shows."""

    def __init__(self, place: Place) -> None:
        """Nothing started yet."""
        self.place = place
        self.number = 0

    def say(self, text: str) -> None:
        """Narrate one step."""
        self.number += 1
        print(f"\n{self.number}. {text}", flush=True)

    def show(self, text: str) -> None:
        """What came of it."""
        print(textwrap.indent(text.rstrip(), "     "), flush=True)

    def homi(self, *argv: str) -> str:
        """Run a homi command in the open; its output."""
        quoted = " ".join(f"'{arg}'" if " " in arg else arg for arg in argv)
        print(f"   $ homi {quoted}", flush=True)
        done = self.place.homi(*argv)
        self.show(done.stdout + done.stderr)
        assert done.returncode == 0, f"homi {argv[0]} ended with {done.returncode}"
        return done.stdout

    def send(self, text: str) -> str:
        """Mail the name as alice; the message's id."""
        before = {line["msg"]["id"] for line in self.place.lines(NAME)}
        spooled = self.spooled()
        self.homi("send", "--from", "alice", NAME, text)
        after = {line["msg"]["id"] for line in self.place.lines(NAME)}
        new = (after - before) or (self.spooled() - spooled)
        assert len(new) == 1, f"one new message, found {new}"
        return new.pop()

    def spooled(self) -> set[str]:
        """The ids that wait in pickup/."""
        return {path.stem for path in (self.place.state / "pickup").glob("*.json")}

    def pid(self) -> int:
        """The daemon's pid, by its own word."""
        return int(self.place.json("status")["pid"])

    def session(self, *options: str) -> Standin:
        """Start a session called NAME."""
        print(f"   $ claude -n {NAME}        (a stand-in, same contract)")
        made = self.place.session(NAME, *options)
        self.show(f"session {made.session_id[:8]}, pid {made.pid}")
        return made

    def reached(self, message: str, rung: str) -> None:
        """Wait for the evidence in the ledger."""
        self.place.reached(NAME, message, rung)
        rungs = " → ".join(["stored", *self.place.rungs(NAME, message)])
        self.show(f"ledger: {rungs}")

    # ---- the story ----

    def run(self) -> None:
        """All of it."""
        self.say("Start the postmaster and claim two names.")
        self.homi("start")
        self.homi("claim", NAME)
        self.homi("claim", "alice")
        record = self.place.planted(NAME)
        assert record is not None, "the name is in the agents' own registry"
        self.show(f"agents now list it: {record['messagingSocketPath']}")

        self.say("Send with nobody home: the mail is kept.")
        first = self.send("please run the tests in module alpha")
        assert "stored" in ["stored", *self.place.rungs(NAME, first)]

        self.say("A session of that name starts: the kept mail arrives as a turn.")
        agent = self.session("--auto", "--reply", "all 212 tests pass")
        letter = agent.letter("please run the tests")
        self.show(letter["text"])
        assert letter["msg_id"] == first, "the turn carries the message's own id"
        self.reached(first, "seen")
        assert "offered" in self.place.rungs(NAME, first)

        self.say("Its reply, sent by its own tool, comes back to alice.")
        until(lambda: self.place.lines("alice"), "the reply is in alice's mailbox")
        self.homi("inbox", "alice")
        reply = self.place.lines("alice")[0]["msg"]
        assert "all 212 tests pass" in reply["text"], reply
        assert reply["from"] == NAME, reply

        self.say("Kill the session (SIGKILL): the next mail is held.")
        agent.kill()
        until(lambda: self.place.planted(NAME), "homi holds the name again")
        second = self.send("and now module beta")
        self.homi("inbox", NAME)

        self.say("Kill the postmaster too (SIGKILL) and send while it is down.")
        pid = self.pid()
        print(f"   $ kill -9 {pid}")
        os.kill(pid, signal.SIGKILL)
        until(lambda: not self.place.answers(), "the daemon is dead")
        self.homi("inbox", NAME)
        third = self.send("and module gamma")

        self.say("Start it again: nothing is lost.")
        self.homi("start")
        until(lambda: not self.spooled(), "what was spooled is taken in")
        self.homi("inbox", NAME)
        kept = [line["msg"]["id"] for line in self.place.lines(NAME)]
        assert kept == [first, second, third], kept

        self.say("The next session of that name gets all of it, in order.")
        heir = self.session("--auto")
        for message in (second, third):
            self.reached(message, "seen")
        told = [letter["msg_id"] for letter in heir.letters()]
        assert told == [second, third], told

        self.say("Where one message has been.")
        trace = self.homi("trace", second)
        assert "seen" in trace

        self.say("Stop, and look that nothing is left running.")
        heir.exit()
        self.homi("stop")
        until(lambda: not self.place.left(), "nothing is left running")
        for name in (NAME, "alice"):
            assert not self.place.planted(name), f"no record of {name} is left"
        self.show("nothing is left running, no record of homi's is left")


def main() -> int:
    """Run the demo; 1 when a step does not hold."""
    begun = time.monotonic()
    place = Place(config="")
    try:
        Demo(place).run()
    except AssertionError as wrong:
        print(f"\ndemo: this step did not hold: {wrong}", file=sys.stderr)
        for log in (place.state / "log", place.log):
            with contextlib.suppress(OSError):
                files = sorted(log.iterdir()) if log.is_dir() else [log]
                for file in files:
                    print(file.read_text()[-3000:], file=sys.stderr)
        return 1
    finally:
        with contextlib.suppress(AssertionError):
            place.close()
    print(f"\ndone in {time.monotonic() - begun:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
