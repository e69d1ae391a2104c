"""A move as the device that the name comes to takes part in it.

Owns what is taken here: the claim that is kept durably is the move.  homi-move(1).
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from homi.address import Device, Name, parse_claimable
from homi.amount import amount
from homi.claims import Came, Claim, real_folder
from homi.clock import Clock
from homi.errors import (
    BadMessage,
    CannotCreate,
    HomiError,
    NotReached,
    StorageFailed,
    Unavailable,
    Usage,
)
from homi.moving import conversation, workspace
from homi.moving.parcel import Parcels
from homi.moving.planning import Aside
from homi.moving.said import Asked, Manifest, Said
from homi.names import Names
from homi.store.disk import Disk

log = logging.getLogger("homi.moving")

PATIENCE = 4.0  # s a question about what is being put in place waits for it


class Bring(Protocol):
    """Stores finished messages of before in a mailbox."""

    async def __call__(self, name: Name, lines: Iterable[bytes]) -> tuple[int, int]:
        """How many stand there now, and how many cannot be stored."""
        ...


class Spawn(Protocol):
    """Starts an agent for a name."""

    async def __call__(self, name: Name, cwd: str, session: str) -> None:
        """HomiError where it cannot be."""
        ...


class Here(NamedTuple):
    """What a name is put in place with."""

    names: Names
    parcels: Parcels
    disk: Disk
    config: str  # the folder of the client's transcripts
    bring: Bring
    spawn: Spawn | None
    clock: Clock
    aside: Aside
    at: Callable[[str], None]


TRANSIENT = (NotReached, StorageFailed, OSError)  # tried again by the sweep


class Settled(NamedTuple):
    """What came with a name, once it is in place."""

    messages: int = 0
    notes: tuple[str, ...] = ()


class Target:
    """The names that come to this device."""

    def __init__(self, here: Here) -> None:
        """Nothing is put in place before start()."""
        self._here = here
        self._moves = here.names.departures
        self._settled: dict[Name, Settled] = {}
        self._tasks: dict[Name, asyncio.Task[None]] = {}
        # Told of a name that yields, or that went on from here and is to yield there.
        self.leaves: Callable[[Name], None] = lambda _name: None

    def sweep(self) -> None:
        """Put in place what came before and is not yet."""
        for claim in self._here.names.all():
            if _open(claim):
                self._settle(claim.name)

    def stop(self) -> None:
        """Begin nothing more; the rest comes with the next start."""
        for task in self._tasks.values():
            task.cancel()

    async def answer(self, device: Device, asked: Asked) -> Said:
        """The answer to a question about a name that comes from device; HomiError
        where it cannot be what is asked."""
        name = parse_claimable(asked.to)
        match asked.do:
            case "plan":
                return await self._plan(name, device, asked)
            case "claim":
                return await self._claim(name, device, asked)
            case "status":
                return Said(there=self._is_there(name, device, asked))
            case "cancel":
                return await self._cancel(name, device, asked)
            case "yield":
                return await self._yield(name, device, asked)
            case _:
                return await self._counts(name)

    # ---- before ----

    async def _plan(self, name: Name, device: Device, asked: Asked) -> Said:
        """What it would find here; 73 or 75 where it would not be taken."""
        here = self._here
        self._check_free(name, device, asked)
        if asked.spawn and here.spawn is None:
            raise Unavailable("no agent can be started there by a move yet")
        least = self._moves.least(name)
        if not asked.cwd:
            if asked.spawn:
                raise Usage("no folder of it is known to start an agent in: --cwd DIR")
            return Said(generation=least)
        space, dirty = asked.workspace, asked.dirty
        cwd, notes = await here.aside(workspace.folder, asked.cwd, space, dirty)
        return Said(generation=least, cwd=cwd, notes=notes)

    def _check_free(self, name: Name, device: Device, asked: Asked) -> None:
        """73 where the name is another's."""
        names = self._here.names
        if names.get(name) is not None and not self._is_there(name, device, asked):
            raise CannotCreate(
                f"{name} is claimed there",
                hint="homi release it there, or call it otherwise: --as NEW",
            )
        if (front := names.front_of(name)) is not None:
            raise CannotCreate(
                f"{name} is what the session behind {front} is called there",
                hint="call it otherwise: --as NEW",
            )
        alias = names.aliases.get(name)
        if (
            alias is not None
            and not alias.moved
            and alias.to != f"{asked.name}@{device}"
        ):
            raise CannotCreate(
                f"{name} is an alias of {alias.to} there",
                hint=f"homi alias rm {name} there, or call it otherwise: --as NEW",
            )

    # ---- the claim ----

    async def _claim(self, name: Name, device: Device, asked: Asked) -> Said:
        """Claim it: that is the move.  Asked again it is the same answer."""
        if self._is_there(name, device, asked):
            return Said(there=True, generation=asked.generation)
        self._check_free(name, device, asked)
        here = self._here
        manifest, cwd = await here.aside(self._opened, asked.manifest)
        told = (manifest.device, manifest.name, manifest.to, manifest.generation)
        if told != (device, asked.name, asked.to, asked.generation):
            raise BadMessage("the manifest is of another move")
        of = Name("" if asked.fork else asked.name)
        sha256, spawn = asked.manifest, asked.spawn
        came = Came(device=device, name=of, manifest=sha256, spawn=spawn)
        fields = {
            "cwd": cwd,
            "settings": dict(manifest.settings),
            "front": manifest.front and self._may_front(name),
        }
        now = here.clock.wall()
        self._moves.arrive(name, came, asked.generation, now, fields)
        here.at("move-arrived")
        self._settle(name)
        return Said(there=True, generation=asked.generation)

    def _opened(self, sha256: str) -> tuple[Manifest, str | None]:
        """Beside the loop: a parcel, and its folder, which is here."""
        manifest = self._here.parcels.open(sha256)
        return manifest, real_folder(manifest.cwd) if manifest.cwd else None

    def _may_front(self, name: Name) -> bool:
        """Whether it can be in front here, too."""
        try:
            self._here.names.check_front(name)
        except HomiError as error:
            log.warning("%s is not in front here: %s", name, error.text)
            return False
        return True

    def _is_there(self, name: Name, device: Device, asked: Asked) -> bool:
        """Whether it is, or was, here by that very move."""
        of = Name("" if asked.fork else asked.name)
        generation = max(asked.generation, 1)
        return asked.do != "plan" and self._moves.came(name, device, of, generation)

    async def _cancel(self, name: Name, device: Device, asked: Asked) -> Said:
        """Never take it in that generation, unless that is done already."""
        if self._is_there(name, device, asked):
            return Said(there=True)
        self._moves.fence(name, asked.generation)
        await self._drop(device, asked, asked.generation)
        return Said()

    async def _drop(self, device: Device, asked: Asked, generation: int) -> None:
        """Keep nothing of what came for a move that will never be."""
        if asked.manifest:
            told = (asked.manifest, device, asked.name, asked.to, generation)
            await self._here.aside(self._here.parcels.drop_of, *told)

    async def _yield(self, name: Name, device: Device, asked: Asked) -> Said:
        """It is there again, in a higher generation: what is here follows it."""
        now, of = self._here.clock.wall(), Name(asked.name)
        gone = self._moves.give_back(name, of, device, asked.generation, now)
        if gone or self._moves.pass_on(name, of, device, asked.generation):
            self.leaves(name)
        else:
            self._moves.fence(name, asked.generation)
            # That of the move which was ended was one lower.
            await self._drop(device, asked, asked.generation - 1)
        return Said()

    # ---- what comes with it ----

    def _settle(self, name: Name) -> None:
        """Put what came with the claim in place, beside everything else."""
        if name in self._tasks:
            return
        task = asyncio.get_running_loop().create_task(self._place(name))
        self._tasks[name] = task
        task.add_done_callback(lambda _task: self._tasks.pop(name, None))

    async def _place(self, name: Name) -> None:
        """What came to where it belongs, then the agent that was asked for."""
        known = self._settled.get(name, Settled())
        notes = list[str]()
        try:
            came = self._here.names.require(name).came
            if came is not None and came.manifest:
                known = await self._put(name, came.manifest)
            notes += await self._start(name)
        except TRANSIENT as error:
            log.warning("%s: what came along waits: %s", name, error)
            notes.append(f"it waits: {error}")
        except HomiError as error:
            log.warning("%s: %s", name, error.text)
        self._settled[name] = Settled(known.messages, (*known.notes, *notes))

    async def _put(self, name: Name, sha256: str) -> Settled:
        """The history into the mailbox, the transcript to where the client looks.
        What waits for the disk raises; what cannot be is a note."""
        here, stored, notes, session = self._here, 0, list[str](), ""
        try:
            manifest: Manifest = await here.aside(here.parcels.open, sha256)
            told = manifest.conversation
            stored, notes = await self._unpack(name, manifest)
            session = "" if told is None else told.id
        except TRANSIENT:
            raise
        except HomiError as error:
            notes.append(error.text)
        for note in notes:
            log.warning("%s: %s", name, note)
        if here.names.get(name) is not None:
            self._moves.settled(name, session)
        here.at("move-settled")
        if not notes:  # else a person may want what lies in it
            await here.aside(here.parcels.drop, sha256)
        return Settled(stored, tuple(notes))

    async def _start(self, name: Name) -> list[str]:
        """Start the agent that was asked for, once; what a person should know.  What
        came is in place for good by now: its client writes on in the transcript."""
        here = self._here
        claim = here.names.require(name)
        came, start = claim.came, here.spawn
        if came is None or not came.spawn or claim.moving is not None:
            return []
        notes = list[str]()
        try:
            if start is not None:
                await start(name, claim.cwd or "", came.session)
        except HomiError as error:
            log.warning("%s: no agent is started: %s", name, error.text)
            notes.append(f"no agent is started: {error.text}")
        self._moves.started(name)
        return notes

    async def _unpack(self, name: Name, manifest: Manifest) -> tuple[int, list[str]]:
        """How many messages stand in the mailbox, and what a person should know."""
        here, notes, stored = self._here, list[str](), 0
        if manifest.history is not None:
            lines = here.parcels.lines(manifest.history)
            stored, bad = await here.bring(name, lines)
            if bad:
                notes.append(
                    f"{amount(bad, 'message')} of its history cannot be stored"
                )
        here.at("move-history")
        if manifest.conversation is not None:
            await here.aside(self._transcript, manifest)
        return stored, notes

    def _transcript(self, manifest: Manifest) -> None:
        """Beside the loop: the transcript with the paths of this device."""
        told = manifest.conversation
        if told is None:
            return
        here, cwd = self._here, manifest.cwd

        def lines() -> Iterator[bytes]:
            for line in here.parcels.lines(told.part):
                yield conversation.translate(line, told.cwd, cwd)

        conversation.keep(here.disk, here.config, told.id, cwd or told.cwd, lines)

    async def _counts(self, name: Name) -> Said:
        """What is in place, once it is or a moment later."""
        task = self._tasks.get(name)
        if task is not None:
            await asyncio.wait([task], timeout=PATIENCE)
        claim = self._here.names.get(name)
        known = self._settled.get(name)
        done = claim is None or not _open(claim)
        found = known or Settled()
        notes = [*found.notes]
        if done and known is None:
            notes.append("it was put in place before a restart, and is not counted")
        return Said(settled=done, messages=found.messages, notes=notes)


def _open(claim: Claim) -> bool:
    """Whether something that came with it is not in place, or not begun."""
    came = claim.came
    return came is not None and bool(came.manifest or came.spawn)
