"""The restart of a daemon in place: the homi that is installed now takes over.

Owns what is started for it, what is asked of it before anything ends, and the last
step.  What passes over is homi.inheritance's.  homid(8) has the steps.
"""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from homi.assembly import process, standby
from homi.assembly.orphans import Orphans, children
from homi.assembly.supervision import Supervision
from homi.doors.control import ControlDoor
from homi.doors.office import Office, Told
from homi.doors.peer import PeerDoor
from homi.errors import NotReached, Unavailable
from homi.inheritance import Bequest, Inherited, inherited
from homi.reports import Restarting
from homi.store.fault import from_environment
from homi.store.store import DiskStore
from homi.visible import visible

log = logging.getLogger("homi.restart")

WHY = "restart"
DRAIN = 10.0  # s for what callers have under way: a line that is typed takes eight
PATIENCE = 20.0  # s for the new program to say that it could start
GOES_ON = "the daemon goes on as it was; put the program right and try again"
SAID_MAX = 300  # characters of what it says instead


class Leaver(Protocol):
    """A part that has something to leave, once it has an heir."""

    heir: Bequest | None


class Succession:
    """Whether, and to what, this daemon gives way."""

    def __init__(
        self,
        parts: Sequence[Leaver],
        shut: Callable[[], None],
        end: Callable[[str], None],
        heritage: Inherited,
        unfit: Callable[[], str],
        quiet: Callable[[float], Awaitable[int]],
    ) -> None:
        """shut: no caller comes in any more; end: begins the end of the daemon;
        unfit: why no homi at all could open the state root; quiet: waits so long for
        what callers have under way, and counts what is left."""
        self._unfit = unfit
        self._quiet = quiet
        self._heritage = heritage
        self._supervision = Supervision(os.environ)
        # Before any child of its own is started.
        self._orphans = Orphans(children() if heritage.any else [])
        self._parts = parts
        self._shut = shut
        self._end = end
        self._task: asyncio.Task[None] | None = None
        self._heir: Bequest | None = None
        self._abandoned = False
        self._fault = from_environment(os.environ) or _nothing

    def begin(self, told: Told) -> None:
        """Ask the new homi whether it could start, and give way to it; told why not,
        and then everything goes on as it was."""
        if self._task is not None:
            told(NotReached("a restart is under way already", hint="homi status"))
            return
        self._task = asyncio.get_running_loop().create_task(self._begin(told))

    def ready(self, loop: asyncio.AbstractEventLoop) -> None:
        """Every door is open: what nobody asked for is given up."""
        self._heritage.close()
        self._supervision.ready(loop)
        self._orphans.start(loop)

    def ending(self, why: str) -> None:
        """The daemon begins to end; for another reason than ours nobody follows."""
        self._abandoned = self._abandoned or why != WHY
        follows = self._heir is not None and not self._abandoned
        self._supervision.ending(follows=follows)
        self._orphans.stop()

    def hurry(self) -> None:
        """All parts have ended: whoever follows waits for no thread that is at work
        still, such as one that waits for git.  It ends there as by a kill.  What tells
        this process to end waits for the next."""
        if self._heir is not None and not self._abandoned:
            process.hold_signals()
            loop = asyncio.get_running_loop()
            loop.set_default_executor(ThreadPoolExecutor(1))

    def follow(self) -> Inherited | None:
        """The last step, when all parts have ended: become the new homi.  None where
        nobody follows; what to go on with where the new one died at its start, and this
        stood by; Unavailable (69) where nothing can be run, and nothing is left."""
        heir = self._heir
        if heir is None:
            return None
        if self._abandoned:
            heir.discard()
            return None
        self._fault("restart-ended")
        unattended = self._heritage.unattended
        if unattended and (kept := standby.split(heir)) is not None:
            return kept
        try:
            heir.hand_over(command(), os.environ)
        except OSError as error:
            if not unattended:
                heir.discard()
            raise Unavailable(
                f"{sys.executable} cannot be run: {error.strerror}", hint="homi start"
            ) from error

    async def _begin(self, told: Told) -> None:
        """Check, then shut, then answer what is being done, then end: who asks again
        meets the new one."""
        try:
            said = await could_start([*command(), "--check"])
            if why := self._unfit():
                raise Unavailable(
                    f"no homi could start: {why}", hint="the daemon goes on as it was"
                )
        except Unavailable as error:
            log.warning("no restart, all goes on: %s", error.text)
            self._task = None
            told(error)
            return
        self._fault("restart-checked")
        log.info("a new homi takes over: %s", said)
        self._shut()
        self._heir = heir = Bequest()
        for part in self._parts:
            part.heir = heir
        if left := await self._quiet(DRAIN):
            log.warning("%d requests take over %.0f s: not answered", left, DRAIN)
        kept = self._heritage.unattended
        told(Restarting(text="the new homi takes over", kept=kept))
        self._fault("restart-shut")
        self._end(WHY)


def connect(
    office: Office,
    door: ControlDoor,
    peer: PeerDoor,
    store: DiskStore,
    end: Callable[[str], None],
    heritage: Inherited,
) -> Succession:
    """What passes over, joined to the parts that have it."""
    shut = door.stop_accepting
    parts = (door, peer, store)
    quiet = office.underway.ended
    succession = Succession(parts, shut, end, heritage, store.unfit, quiet)
    office.restart = succession.begin
    door.inherited = peer.inherited = heritage
    return succession


def heritage(environment: MutableMapping[str, str]) -> Inherited:
    """What this process has from the homi it was before."""
    found = inherited(environment)
    if found.any and (fault := from_environment(environment)) is not None:
        fault("restart-taken")
    return found


def command() -> list[str]:
    """What runs this daemon, as it was started: by now it may be another homi."""
    return [sys.executable, *sys.orig_argv[1:]]


async def could_start(argv: Sequence[str]) -> str:
    """The version that argv says it is; Unavailable (69) with its own words where it
    would not start."""
    try:
        child = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise Unavailable(
            f"the new homi does not start: {argv[0]}: {error.strerror}",
            hint="the daemon goes on as it was",
        ) from None
    try:
        async with asyncio.timeout(PATIENCE):
            out, said = await child.communicate()
    except TimeoutError:
        raise Unavailable(
            f"the new homi said nothing in {PATIENCE:.0f} s",
            hint="the daemon goes on as it was",
        ) from None
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    if child.returncode:
        text = _last(said)
        raise Unavailable(
            f"the new homi does not start (status {child.returncode}): {text}",
            hint=GOES_ON,
        )
    text = out.decode("utf-8", "replace").strip()[:SAID_MAX]
    if not text.startswith("homi "):
        raise Unavailable(
            f"the new homi does not say that it could start: {visible(text) or '-'}",
            hint=GOES_ON,
        )
    return text


def _last(said: bytes) -> str:
    """The line of what a failing program said that tells why: homi's own first one,
    or the last of a traceback."""
    lines = said.decode("utf-8", "replace").splitlines()
    own = [line.removeprefix("homi: ") for line in lines if line.startswith("homi: ")]
    found = own[:1] or [line for line in lines if line.strip()][-1:] or ["no word"]
    return found[0].strip()[:SAID_MAX]


def _nothing(_point: str) -> None:
    """Nobody waits for this point."""
