"""How the demo tells its story: numbered steps, the command of each, what came of it.

Every command runs as a person at a terminal of 80 columns would run it.  A step that
does not hold is an AssertionError.
"""

import textwrap

from tests.cli.run import at_terminal
from tests.standin.driver import Standin
from tests.standin.place import Place

INDENT = 5
WIDTH = 80


class Scene:
    """The steps so far, and who runs them."""

    def __init__(self) -> None:
        """Nothing told yet."""
        self.number = 0

    def say(self, text: str) -> None:
        """Narrate one step."""
        self.number += 1
        print()
        lead = f"{self.number}. "
        print(
            textwrap.fill(
                text, WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead)
            )
        )

    def show(self, text: str) -> None:
        """What came of it; lines that are too long go on below."""
        pad = " " * INDENT
        for line in text.rstrip().splitlines():
            shown = [line]
            if len(line) > WIDTH - INDENT:
                shown = textwrap.wrap(line, WIDTH - INDENT, break_on_hyphens=False)
            print(*(pad + part for part in shown), sep="\n", flush=True)

    def run(self, place: Place, command: str) -> None:
        """Show a command before it is run; the device's name is its prompt."""
        print(f"   {place.device}$ {command}", flush=True)

    def homi(self, place: Place, *argv: str) -> str:
        """Run a homi command in the open; its output."""
        self.run(place, " ".join(["homi", *map(_quoted, argv)]))
        env = place.env(COLUMNS=str(WIDTH - INDENT), LINES="24")
        done = at_terminal(env, place.work, argv, screen=True)
        out = done.stdout.decode().replace("\r", "")
        self.show(out + done.stderr.decode())
        assert done.returncode == 0, f"homi {argv[0]} ended with {done.returncode}"
        return out

    def send(self, place: Place, to: str, text: str) -> str:
        """Send in the open; the message's id."""
        before = messages(place)
        self.homi(place, "send", to, text)
        new = messages(place) - before
        assert len(new) == 1, f"one new message, found {new}"
        return new.pop()

    def session(self, place: Place, name: str, *options: str) -> Standin:
        """Start a session of that name."""
        self.run(place, f"claude -n {name}        # a stand-in, same contract")
        made = place.session(name, *options)
        self.show(f"session {made.session_id[:8]}, pid {made.pid}")
        return made


def messages(place: Place) -> set[str]:
    """The id of every message under the place's state root, stored or spooled."""
    state = place.state
    found = {path.stem for path in (state / "pickup").glob("*.json")}
    for top, file in (("mail", "inbox"), ("out", "queue")):
        for path in (state / top).glob(f"*/{file}.jsonl"):
            found |= {line["msg"]["id"] for line in place.journal(path)}
    return found


def short(message: str) -> str:
    """An id as homi itself shortens it."""
    return message.rpartition("-")[2][:8]


def _quoted(word: str) -> str:
    """As a person types it."""
    return f"'{word}'" if " " in word else word
