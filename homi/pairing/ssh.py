"""The user's own ssh: commands run on another machine, and what went wrong in words.

Owns the options that ssh is given, and the fix for each way in which it fails.  The
user's config, agent and known_hosts stay ssh's affair.  homi-pair(1).
"""

import contextlib
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from homi.address import show
from homi.errors import HomiError, NotAllowed, TimedOut, Unavailable, Usage
from homi.links import host as dialled

CONNECT = 10  # s for the connection alone
GRACE = 2.0  # s: what ssh takes to end by itself
ENDING = 10.0  # s: what it may take once it is told to
LIMIT = 120.0  # s a command may take where nobody types
TYPING = 600.0  # s where a person may have to find a password
FAILED = 255  # ssh's own status
SAID = 3  # of the last lines of stderr that are shown
OPTIONS = (
    "-T",
    "-oStrictHostKeyChecking=ask",
    "-oRemoteCommand=none",
    "-oClearAllForwardings=yes",
    "-oForwardAgent=no",
    "-oPermitLocalCommand=no",
    f"-oConnectTimeout={CONNECT}",
    "-oControlMaster=auto",
    "-oControlPersist=60",
)


class Ran(NamedTuple):
    """What a command there did."""

    status: int
    out: bytes
    err: str

    @property
    def last(self) -> str:
        """The last line it complained with; empty where it did not."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        return lines[-1].removeprefix("homi: ") if lines else ""


class Ssh:
    """One host; the first command connects, the others share its connection."""

    def __init__(self, host: str) -> None:
        """host as ssh takes it.  Usage (64) for what is none, 69 without an ssh."""
        if not dialled.is_host(host):
            raise Usage(f"{show(host)} is no host", hint="homi pair USER@HOST")
        program = shutil.which("ssh")
        if program is None:
            raise Unavailable("there is no ssh here", hint="install an OpenSSH client")
        self.host = host
        self.typed = dialled.typed(host)  # behind ssh, in a hint
        *options, name = dialled.argv(host)
        self._target = [*options, "--", name]
        self._program = program
        mine = f"homi-{os.getpid()}-"
        self._folder = Path(tempfile.mkdtemp(prefix=mine, dir="/tmp"))

    def run(
        self, script: str, *args: str, given: bytes = b"", limit: float | None = None
    ) -> Ran:
        """What sh there makes of script; its arguments are $1, $2 and so on.

        Raises where ssh itself failed: 77 for a door that is shut, 69 for none.
        """
        mark = secrets.token_hex(8)  # whatever a shell prints at its start is before it
        whole = f"echo; echo {mark}\n{script}"
        command = shlex.join(["sh", "-c", whole, "sh", *args])
        argv = [*self._options(), *self._target, command]
        done, err = self._call(argv, given, limit)
        _, found, out = done.stdout.partition(f"\n{mark}\n".encode())
        if found:
            return Ran(done.returncode, out, err)
        if done.returncode == FAILED:
            raise refusal(self.host, err)
        raise Unavailable(
            f"{self.host} runs no command for you (status {done.returncode})",
            hint=f"this must print hello: ssh {self.typed} echo hello",
        )

    def close(self) -> None:
        """End the connection; nothing of it is left."""
        asked = [*self._options(), "-O", "exit", *self._target]
        with contextlib.suppress(HomiError):
            self._call(asked, b"", limit=CONNECT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        """The connection itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _options(self) -> list[str]:
        """What every call is given; ssh asks nothing where nobody could answer."""
        batch = [] if _person() else ["-oBatchMode=yes"]
        return [*OPTIONS, *batch, f"-oControlPath={self._folder}/%C"]

    def _call(
        self, argv: list[str], given: bytes, limit: float | None = None
    ) -> tuple["subprocess.CompletedProcess[bytes]", str]:
        """Run ssh; what it did and what it said.

        The connection that stays may keep stderr open: it goes to a file, whose end
        nobody waits for.
        """
        said = self._folder / "said"
        limit = limit or (TYPING if _person() else LIMIT)
        with (
            open(said, "wb") as err,
            subprocess.Popen(
                [self._program, *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=err,
            ) as ssh,
        ):
            try:
                out, _ = ssh.communicate(given, limit)
            except subprocess.TimeoutExpired:
                _end(ssh)
                raise TimedOut(
                    f"{self.host} did not finish in {limit:.0f} s",
                    hint="homi pair takes up where it ended",
                ) from None
            except KeyboardInterrupt:
                # It has the key, too; but one that came before it waited for an answer
                # is lost on it.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    ssh.wait(GRACE)
                _end(ssh)
                raise
        done = subprocess.CompletedProcess(ssh.args, ssh.returncode, out)
        return done, said.read_text(errors="replace").replace("\r", "")


def _end(ssh: "subprocess.Popen[bytes]") -> None:
    """End ssh: asked to, it puts the terminal as it was before it asked."""
    ssh.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        ssh.wait(ENDING)
    ssh.kill()


def refusal(host: str, err: str) -> HomiError:
    """ssh's own failure, with the exact fix."""
    typed = dialled.typed(host)
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    said = "; ".join(lines[-SAID:]) or "ssh said nothing"
    if "HOST IDENTIFICATION HAS CHANGED" in err:
        name = re.search(r"ssh-keygen .*-R ['\"]?([^'\"\s]+)", err)
        changed = re.search(r"^Host key for (\S+) has changed", err, re.M)
        found = name or changed
        known = found[1] if found else host.rpartition("@")[2]
        return NotAllowed(
            f"the host key of {host} has changed",
            hint="if you know why: ssh-keygen -R "
            f"{shlex.quote(known)}, then ssh {typed} true, and pair again",
            reason="host-key",
        )
    for words, text, fix in _FAILURES:
        if words in err:
            kind = Unavailable if fix.startswith("!") else NotAllowed
            hint = fix.removeprefix("!").format(host=host, typed=typed)
            return kind(text.format(host=host, said=said), hint=hint)
    return Unavailable(f"ssh {host}: {said}", hint=f"this must work first: ssh {typed}")


# What ssh says, what that means, and the fix; with ! where no door was found at all.
_FAILURES = (
    (
        "Host key verification failed",
        "{host} is not known to your ssh yet",
        "ssh {typed} true, compare the fingerprint and say yes; then pair again",
    ),
    (
        "Too many authentication failures",
        "{host} was offered too many keys of yours",
        "name one for {host} in ~/.ssh/config: IdentityFile, IdentitiesOnly yes",
    ),
    (
        "Permission denied",
        "{host} does not let you in: {said}",
        "ssh-copy-id {typed}; for a key with a passphrase: ssh-add, or pair at a"
        " terminal",
    ),
    ("Could not resolve", "no host {host}: {said}", "!is the name right? ssh {typed}"),
    ("refused", "{host} has no sshd: {said}", "!start sshd there, or name its port"),
    ("timed out", "{host} does not answer: {said}", "!is it up? ssh {typed} true"),
    ("No route", "{host} cannot be reached: {said}", "!is it up? ssh {typed} true"),
)


def _person() -> bool:
    """Whether somebody is there who can answer what ssh asks."""
    if sys.stdin is None or sys.stderr is None:
        return False
    return sys.stdin.isatty() and sys.stderr.isatty()
