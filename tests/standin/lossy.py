"""A bad line between sshd and `homi link serve`: frames are plain here, on their way
both ways.

Runs what stands behind its first argument, the folder of its orders, and hands every
line on; now and then one is lost, doubled, turned round with the next, or cut in the
middle, the connection with it.  What comes before a link is up passes: that is tried
again in ten seconds only.  Standard library only: it starts with each connection.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

ORDERS = "orders.json"
FAULTS = "faults"  # one line each
STARTS = "starts"  # one byte each
SURE = 50  # lines of a bad connection
KINDS = ("lost", "doubled", "turned", "cut")
PASSES = (b'{"f":"hello"', b'{"f":"proof"', b'{"f":"bye"')


def order(folder: Path, seed: int, one_in: int) -> None:
    """One in so many lines meets a fault, from the next connection on; 0: none."""
    folder.mkdir(exist_ok=True)
    draft = folder / "draft"
    draft.write_text(json.dumps({"seed": seed, "one_in": one_in}))
    draft.rename(folder / ORDERS)


def faults(folder: Path) -> list[str]:
    """What happened so far."""
    found = folder / FAULTS
    return found.read_text().splitlines() if found.exists() else []


class Way:
    """One direction of one connection."""

    def __init__(
        self, folder: Path, name: str, child: "subprocess.Popen[bytes]"
    ) -> None:
        """The dice of each connection are its own."""
        orders = json.loads((folder / ORDERS).read_text())
        with (folder / STARTS).open("ab") as file:
            file.write(b".")
            start = file.tell()
        self._one_in = int(orders["one_in"])
        self._dice = random.Random(f"{orders['seed']} {start}")
        self._faults = folder / FAULTS
        # However few lines there will be, one of the first ones is met.
        none = self._one_in and not self._faults.exists()
        self._sure = self._dice.randrange(1, SURE) if none else 0
        self._lines = 0
        self._name = name
        self._child = child
        self._held = b""  # a line that its next overtakes

    def carry(self, source: BinaryIO, to: BinaryIO) -> None:
        """Until source ends, or a cut."""
        for line in source:
            kind = self._fault(line)
            to.write(self._made(kind, line))
            to.flush()
            if kind == "cut":
                self._child.kill()
                os.kill(os.getpid(), signal.SIGKILL)
        to.close()

    def _fault(self, line: bytes) -> str:
        """What happens to a line; mostly nothing."""
        passes = not line.startswith(b"{") or line.startswith(PASSES)
        if passes or not self._one_in:
            return ""
        self._lines += 1
        if self._lines != self._sure and self._dice.randrange(self._one_in):
            return ""
        kind = self._dice.choice(KINDS)
        with self._faults.open("a") as file:
            file.write(f"{kind} {self._name} {line[:12].decode()}\n")
        return kind

    def _made(self, kind: str, line: bytes) -> bytes:
        """What becomes of it."""
        if kind == "cut":
            return line[: len(line) // 2]
        held, self._held = self._held, line if kind == "turned" else b""
        made = {"lost": b"", "turned": b"", "doubled": line + line}.get(kind, line)
        return made + held


def main() -> int:
    """Stand between; the status of what stands behind."""
    folder, command = Path(sys.argv[1]), sys.argv[2:]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    there = Way(folder, "there", child)
    back = Way(folder, "back", child)
    threading.Thread(
        target=there.carry, args=(sys.stdin.buffer, child.stdin), daemon=True
    ).start()
    back.carry(child.stdout, sys.stdout.buffer)
    return child.wait()


if __name__ == "__main__":
    sys.exit(main())
