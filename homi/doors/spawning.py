"""The verbs about agents that homi starts: spawn, respawn, unspawn.

Owns who may start and end what, and how deep and how many; homi.spawn does it.
homi-spawn(1) says who may do what.
"""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from homi.address import Name, parse_claimable
from homi.clock import Clock, rfc3339
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.errors import (
    CannotCreate,
    HomiError,
    NotAllowed,
    NotReached,
    Unavailable,
    Usage,
)
from homi.orders.spawn import Respawn, Spawn, Unspawn
from homi.request import CallerClass, Request
from homi.seats import launch
from homi.spawn import clients, lineage, rule, tree
from homi.spawn.beside import in_a_thread
from homi.spawn.keeper import Keeper
from homi.spawn.rows import row
from homi.spawn.state import Spawned
from homi.spawned import Unspawned

ORDER_MAX = 64  # characters


class Spawning:
    """What one caller has started."""

    def __init__(self, office: Office, rights: Rights, clock: Clock) -> None:
        """Nothing waits yet."""
        self._office = office
        self._rights = rights
        self._clock = clock
        self._gone = False
        self._brief: list[Name] = []

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {
            Spawn: self._spawn,
            Respawn: self._respawn,
            Unspawn: self._unspawn,
        }

    def abandon(self) -> None:
        """Nobody waits for an answer any more; what was begun goes on."""
        self._gone = True
        for name in self._brief:
            self._keeper.dismiss(name)

    @property
    def _keeper(self) -> Keeper:
        """The programs of the daemon."""
        if self._office.keeper is None:
            raise Unavailable("the daemon is starting")
        return self._office.keeper

    def _spawn(self, request: Spawn, reply: Reply) -> None:
        """Look whether it can be started, then claim the name and start it."""
        name = parse_claimable(request.name)
        clients.check(request.client, request.argv)
        _bounded(request.order)
        if self._same(request, name, reply):
            return
        if request.brief:
            self._unknown(name, request)
        by = self._by()
        self._may_have(name, by)

        def told(found: Spawned | HomiError) -> None:
            self._office.underway.more(-1)
            if self._keeper.loop is None:
                return  # nothing is on disk yet: it is asked for once more
            if not isinstance(found, Spawned):
                self._answer(request.i, reply, found)
                return
            if self._gone and found.brief:
                return  # it would end at once
            try:
                self._may_have(name, by)  # others may have come in between
                self._office.see_claimed(name, self._clock.wall())
                if found.brief:
                    self._brief.append(name)
                self._start(request, reply, partial(self._keeper.order, found))
            except HomiError as error:
                self._answer(request.i, reply, error)

        if not request.on_mail:
            self._keeper.free(name)
        self._office.underway.more(1)
        in_a_thread(partial(self._prepared, name, request, by), told)

    def _prepared(self, name: Name, request: Spawn, by: list[str]) -> Spawned:
        """What is to be started, once nothing of it is missing; blocks."""
        path = request.path or os.environ.get("PATH", os.defpath)
        cwd = launch.folder(request.cwd)
        launch.program([request.client], path, cwd, launch.CLIENT)
        made = ""
        if request.worktree:
            made = cwd = tree.make(Path(self._office.root), name, cwd)
        return Spawned(
            name=name,
            client=request.client,
            cwd=cwd,
            argv=request.argv,
            path=path,
            on_mail=request.on_mail,
            tree=made,
            brief=request.brief,
            by=by,
            at=rfc3339(self._clock.wall()),
            order=request.order,
        )

    def _respawn(self, request: Respawn, reply: Reply) -> None:
        """Once more; a person's order forgets what failed before."""
        name = self._own(request.name)
        _bounded(request.order)
        if self._same(request, name, reply):
            return
        spawned = self._keeper.spawns.get(name)
        if (
            spawned is not None
            and spawned.run
            and clients.one_conversation(spawned.argv)
        ):
            raise CannotCreate(
                f"{name} is started with one conversation, which only one may write",
                hint=f"homi unspawn --end {name}, then spawn it anew",
            )
        person = self._rights.caller.caller is CallerClass.PERSON
        failed = spawned is not None and spawned.failures >= rule.FAILURES_MAX
        if failed and not person:
            raise NotAllowed(
                f"{name} failed {rule.FAILURES_MAX} times in a row:"
                " a person has it started again"
            )
        if spawned is not None and spawned.run is None and not person:
            self._room(spawned.by)

        def again(told: Callable[[Spawned | HomiError], None]) -> None:
            order = request.order
            self._keeper.again(name, told, order, anew=person, now=request.now)

        self._start(request, reply, again)

    def _unspawn(self, request: Unspawn, reply: Reply) -> None:
        """No more."""
        name = self._own(request.name)
        spawned = self._keeper.forget(name, end=request.end)
        ended = spawned.run.pid if request.end and spawned.run is not None else 0
        reply(request.i, Unspawned(name, ended=ended, tree=spawned.tree))

    def _same(self, request: Spawn | Respawn, name: Name, reply: Reply) -> bool:
        """Whether it was ordered already, as of a daemon that restarted since: then
        that start is waited for, or told of."""
        spawned = self._keeper.spawns.get(name)
        if spawned is None or not request.order or request.order != spawned.order:
            return False
        if spawned.run is not None and not spawned.run.ready:
            self._start(request, reply, partial(self._keeper.join, name))
        elif spawned.run is None and spawned.said and not spawned.on_mail:
            raise NotReached(spawned.said, reason="dead")
        else:
            self._answer(request.i, reply, spawned)
        return True

    def _start(
        self,
        request: Spawn | Respawn,
        reply: Reply,
        order: Callable[[Callable[[Spawned | HomiError], None]], None],
    ) -> None:
        """Order it, and answer when it is ready, or when the time is over."""
        answered = False

        def told(what: Spawned | HomiError) -> None:
            nonlocal answered
            late.cancel()
            if not answered:
                answered = True
                self._answer(request.i, reply, what)

        loop = asyncio.get_running_loop()
        late = loop.call_later(request.timeout, lambda: told(_late(request.name)))
        try:
            order(told)
        except HomiError:
            late.cancel()
            raise

    def _answer(self, i: int, reply: Reply, what: Spawned | HomiError) -> None:
        """Tell the caller, if it is still there."""
        if not self._gone:
            now = self._clock.wall()
            reply(i, row(what, now) if isinstance(what, Spawned) else what)

    def _may_have(self, name: Name, by: list[str]) -> None:
        """77 where a session would start what is another's, or an agent too many."""
        spawned = self._keeper.spawns.get(name)
        own = spawned is not None and self._rights.starter() in spawned.by
        session = self._rights.caller.caller is CallerClass.SESSION
        if session and self._office.names.get(name) is not None and not own:
            raise NotAllowed(
                f"{name} is claimed, and was not started by this session",
                hint="spawn another",
            )
        self._room(by)

    def _unknown(self, name: Name, request: Spawn) -> None:
        """64 or 73 for what must not end with a caller."""
        if request.on_mail:
            raise Usage("what is brief is not started by mail")
        if self._office.names.get(name) or self._keeper.spawns.get(name):
            raise CannotCreate(f"{name} is claimed already", hint="take a new name")

    def _room(self, by: list[str]) -> None:
        """77 where an agent of that chain has as many running as it may."""
        if (full := lineage.crowded(self._keeper.spawns, by)) is not None:
            raise NotAllowed(
                f"{rule.ALIVE_MAX} agents run that {full} started, or one it started,"
                " and more may not",
                hint="homi unspawn --end NAME ends one",
            )

    def _own(self, given: str) -> Name:
        """The name meant, if this caller may decide over it; 67, 77."""
        name = self._office.names.require(given).name
        if self._rights.caller.caller is CallerClass.SESSION:
            spawned = self._keeper.spawns.get(name)
            if spawned is None or self._rights.starter() not in spawned.by:
                raise NotAllowed(
                    f"{name} was not started by this session",
                    hint="a person may, and who spawned it",
                )
        return name

    def _by(self) -> list[str]:
        """Who orders it, and who had that one started; 77 where that is too deep."""
        above = lineage.above(self._keeper.spawns, self._rights.caller.pid)
        if len(above) > rule.DEPTH_MAX:
            raise NotAllowed(
                f"{above[0]} was started by an agent {rule.DEPTH_MAX} deep already:"
                " it starts none"
            )
        who = self._rights.starter()
        # An agent that has no record yet looks like any program.
        itself = above and who in (above[0], CallerClass.SERVICE)
        return above if itself else [who, *above]


def _bounded(order: str) -> None:
    """Usage (64) for an id that is longer than any: it is kept in a state file."""
    if len(order) > ORDER_MAX:
        raise Usage(f"order has {len(order)} characters, at most {ORDER_MAX} are taken")


def _late(given: str) -> NotReached:
    """It is not ready, and nobody waits for that any longer."""
    name = given.lower()
    return NotReached(
        f"{name} was started, but cannot be written to yet",
        hint=f"homi seat state {name}: it may ask something",
    )
