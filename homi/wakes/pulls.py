"""The open pull requests of a repository, as the program gh tells them.

Owns the one call of gh and what its failures mean; runs in a thread.  homi-wake(1).
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess

import msgspec

from homi.address import show
from homi.errors import NotReached, Unavailable, Usage
from homi.wakes.files import Found

TIMEOUT = 60.0  # s
LAST = 5.0  # s for what was ended to be gone
POLL = 300.0  # s between two looks: gh has a budget of its own an hour
LIMIT = 1_000  # open requests that are asked for
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,99}/[\w.][\w.-]{0,99}", re.ASCII)
_LOGIN = 4  # what gh ends with where nobody is logged in
_FIELDS = "number,title,url,author,headRefOid"


class _Author(msgspec.Struct):
    login: str = ""


class _Pull(msgspec.Struct, rename={"head": "headRefOid"}):
    """One as gh writes it."""

    number: int
    title: str = ""
    url: str = ""
    author: _Author = msgspec.field(default_factory=_Author)
    head: str = ""


def checked(repository: str) -> str:
    """OWNER/REPO as it stands; Usage (64) for anything else."""
    if _REPOSITORY.fullmatch(repository) is None:
        raise Usage(
            f"{show(repository)} is no repository", hint="OWNER/REPO, as gh takes it"
        )
    return repository


class Gh:
    """Runs gh; close() ends what still runs."""

    def __init__(self) -> None:
        """Nothing runs."""
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def close(self) -> None:
        """End every gh that was started here, and start no other."""
        self._closed = True
        for process in list(self._running):
            _end(process)

    def pulls(self, repository: str) -> dict[str, Found]:
        """Its open requests by number; 69 and 75 where that cannot be known."""
        program = shutil.which("gh")
        if program is None:
            raise Unavailable(
                "gh is not in the PATH of the daemon",
                hint="install gh (cli.github.com) where the daemon finds it",
                reason="gh-missing",
            )
        limit = ("--state", "open", "--limit", str(LIMIT), "--json", _FIELDS)
        out = self._run([program, "pr", "list", "--repo", repository, *limit])
        try:
            pulls = msgspec.json.decode(out, type=list[_Pull])
        except (ValueError, RecursionError):
            raise NotReached(
                "gh wrote something else than a list", reason="gh-failed"
            ) from None
        return {f"#{each.number}": _found(each) for each in pulls}

    def _run(self, argv: list[str]) -> bytes:
        """What it writes."""
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                argv, stdin=null, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except OSError as error:
            raise Unavailable(
                f"cannot run {argv[0]}: {error.strerror}", reason="gh-missing"
            ) from None
        self._running.add(process)
        try:
            if self._closed:
                _end(process)
            out, err = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            _end(process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=LAST)
            raise NotReached(
                f"gh did not end in {TIMEOUT:.0f} s", reason="gh-failed"
            ) from None
        finally:
            self._running.discard(process)
        if process.returncode:
            raise _refusal(process.returncode, err.decode("utf-8", "replace"))
        return out


def _end(process: "subprocess.Popen[bytes]") -> None:
    """With all that it started: what holds its pipes holds us."""
    if process.returncode is None:  # else its number may be another's
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)


def _refusal(status: int, said: str) -> Unavailable:
    """What a failure of gh means."""
    line = next((each for each in said.splitlines() if each.strip()), "")
    if status == _LOGIN or "gh auth login" in said:
        return Unavailable(
            "gh is not logged in", hint="gh auth login", reason="gh-auth"
        )
    return Unavailable(
        f"gh ended with {status}: {show(line, 200)}",
        hint="gh pr list --repo OWNER/REPO shows the same",
        reason="gh-failed",
    )


def _found(pull: _Pull) -> Found:
    """One request, as it is told; its title is its author's word."""
    facts = [
        ("pr", f"#{pull.number}"),
        ("title", pull.title),
        ("author", pull.author.login),
        ("url", pull.url),
        ("head", pull.head),
    ]
    return Found(pull.head or "?", facts)
