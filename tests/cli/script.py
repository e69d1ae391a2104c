"""Runs a script of commands against a daemon, and holds it to what it says.

A script is blocks with a blank line between them; # begins a remark.

  $ homi …        as a program that is neither session nor person
  P$ homi …       by a person: a controlling terminal, stdout a pipe
  T$ homi …       the same, stdout the terminal
  NAME$ homi …    by the tool of the session NAME
  sh$ …           by a shell, with homi in its path

Behind the command: `[n]` its exit status if not 0, `< text` its standard input,
`! regex` a line of stderr, any other line a regex for a line of stdout; `...` any
lines.  A named group is kept, and `$name` stands for it from then on.  `~`: what others
do meanwhile decides it, so the command is repeated until all of that is so.

  + path, - path  a file that must, must not exist under the state root (a glob)
  @ session NAME, @ end NAME, @ kill (the daemon), @ write PATH TEXT, @ append …
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from tests.cli.run import at_terminal
from tests.standin.driver import Standin
from tests.standin.place import PATIENCE, NotReached, Place, until

Block = list[str]


class Script:
    """One script in a place of its own."""

    def __init__(self, path: Path, place: Place) -> None:
        """The daemon is not running."""
        self._blocks = _blocks(path.read_text())
        self._place = place
        self._kept: dict[str, str] = {}
        self._sessions: dict[str, Standin] = {}
        place.install()

    def run(self) -> None:
        """Each block in turn; AssertionError with the block that does not hold."""
        for block in self._blocks:
            late = [line for line in block[1:] if re.match(r"\w*\$ ", line)]
            assert not late, f"a command runs only at the start of a block: {late}"
            for line in self._expand(block):
                if line.startswith("@ "):
                    self._act(line[2:].split(maxsplit=2))
            if found := re.match(r"(\w*)\$ (.*)", block[0]):
                self._command(found[1], found[2], block[1:])
            for line in block:
                if line[:2] in ("+ ", "- "):
                    self._look(line[0], self._fill(line[2:]))

    def _expand(self, block: Block) -> Block:
        return [self._fill(line) for line in block]

    def _fill(self, text: str, *, pattern: bool = False) -> str:
        """text with what was kept in the place of its names."""
        for name in sorted(self._kept, key=len, reverse=True):
            value = self._kept[name]
            text = text.replace(f"${name}", re.escape(value) if pattern else value)
        return text

    def _act(self, words: list[str]) -> None:
        """Something that is no command."""
        state = self._place.state
        match words:
            case ["session", name]:
                self._sessions[name] = self._place.session(name)
            case ["end", name]:
                self._sessions.pop(name).kill()
            case ["kill"]:
                pid = int(self._place.json("status")["pid"])
                os.kill(pid, signal.SIGKILL)
                until(lambda: _gone(pid), "the daemon is dead")
            case ["write", path, text]:
                (state / path).write_text(text)
            case ["append", path, text]:
                with (state / path).open("a") as file:
                    file.write(text.encode().decode("unicode_escape"))
            case _:
                raise AssertionError(f"no such action: {words}")

    def _look(self, sign: str, pattern: str) -> None:
        found = list(self._place.state.glob(pattern))
        assert bool(found) == (sign == "+"), f"{sign} {pattern}: {found}"

    def _command(self, who: str, command: str, expected: Block) -> None:
        """Run a command and compare; again, where that is asked for."""
        if "~" not in expected:
            self._once(who, command, expected)
            return
        expected = [line for line in expected if line != "~"]
        kept, wrong = self._kept, AssertionError()

        def holds() -> bool:
            nonlocal wrong
            self._kept = dict(kept)
            try:
                self._once(who, command, expected)
            except AssertionError as error:
                wrong = error
                return False
            return True

        try:
            until(holds, "it is so")
        except NotReached:
            raise wrong from None

    def _once(self, who: str, command: str, expected: Block) -> None:
        """Run a command and compare."""
        given = "".join(line[2:] + "\n" for line in expected if line.startswith("< "))
        status, out, err = self._execute(who, self._fill(command), given)
        wanted = next((int(e[1:-1]) for e in expected if re.match(r"\[\d+\]$", e)), 0)
        said = f"{who}$ {command}\nstatus {status}\n{out}\n{err}"
        assert status == wanted, said
        self._compare([e[2:] for e in expected if e.startswith("! ")], err, said)
        plain = [e for e in expected if not re.match(r"(\[\d+\]$|[!<+-] )", e)]
        self._compare(plain, out, said)

    def _compare(self, patterns: Block, text: str, said: str) -> None:
        """Every line of text fits its pattern, in order."""
        lines, skip = text.splitlines(), False
        for pattern in patterns:
            if pattern == "...":
                skip = True
                continue
            fits = re.compile(self._fill(pattern, pattern=True)).fullmatch
            while skip and lines and not fits(lines[0]):
                del lines[0]
            found = fits(lines.pop(0)) if lines else None
            assert found, f"{pattern!r} does not fit\n{said}"
            self._kept |= found.groupdict()
            skip = False
        assert skip or not lines, f"not expected: {lines}\n{said}"

    def _execute(self, who: str, command: str, given: str) -> tuple[int, str, str]:
        """Status, stdout and stderr of the command."""
        place = self._place
        if who == "sh":
            done = subprocess.run(
                ["sh", "-c", command],
                capture_output=True,
                env=place.env(),
                cwd=place.work,
                timeout=2 * PATIENCE,
                check=False,
                text=True,
            )
            return done.returncode, done.stdout, done.stderr
        program, *argv = shlex.split(command)
        assert program == "homi", command
        if who in ("P", "T"):
            seen = at_terminal(place.env(), place.work, argv, screen=who == "T")
            return seen.returncode, seen.stdout.decode(), seen.stderr.decode()
        if who:
            run = [sys.executable, "-m", "homi", *argv]
            ran = self._sessions[who].tool(*run, given=given)
            return ran["rc"], ran["out"], ran["err"]
        done = place.homi(*argv, given=given.removesuffix("\n"))
        return done.returncode, done.stdout, done.stderr


def _gone(pid: int) -> bool:
    """Whether that process ended, with each of its threads: the last one closes what
    it had open.  Its parent may not have noticed yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
        return state in "ZX" and len(os.listdir(f"/proc/{pid}/task")) < 2
    except OSError:
        return True


def _blocks(text: str) -> list[Block]:
    """The blocks of a script without its remarks."""
    found: list[Block] = [[]]
    for line in text.splitlines():
        if not line.strip():
            found.append([])
        elif not line.startswith("#"):
            found[-1].append(line)
    return [block for block in found if block]
