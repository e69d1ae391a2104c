"""Names that are started by their mail: when, and what their mail waits for.

Owns the timers of what may not be started yet.  homi-spawn(1) has the bounds.
"""

import asyncio
from collections.abc import Callable

from homi.address import Name
from homi.clock import Clock
from homi.envelope import Reason
from homi.errors import HomiError
from homi.owners import Owners
from homi.sessions import Session
from homi.spawn import lineage, rule
from homi.spawn.keeper import Keeper
from homi.spawn.state import Spawned, tolerant


class OnMail:
    """Every name that is started when mail waits and nobody has it."""

    def __init__(self, keeper: Keeper, owners: Owners, clock: Clock) -> None:
        """Subscribes to owners and to the ends of programs."""
        self.keeper = keeper
        self.findings = keeper.findings
        self.waiting: Callable[[Name], bool] = lambda _name: False  # for somebody
        self._spawns = keeper.spawns
        self._owners = owners
        self._clock = clock
        self._timers: dict[Name, asyncio.TimerHandle] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        owners.subscribe(self._owner)
        keeper.over = self.stir

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start names from now on."""
        self._loop = loop
        self.keeper.start(loop)
        self.sweep()

    def stop(self) -> None:
        """Start nothing more; what runs goes on without us."""
        self._loop = None
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self.keeper.stop()

    def sweep(self) -> None:
        """Look at every name and program again."""
        self.keeper.sweep()
        for spawned in self._spawns.all():
            self.stir(spawned.name)

    def stir(self, name: Name, *_mail: object) -> None:
        """Start the name's program if mail waits for it and nobody has the name."""
        spawned = self._spawns.get(name)
        if self._loop is None or spawned is None or not spawned.on_mail:
            return
        if self.waiting(name):
            self.wake(name)

    def wake(self, name: Name) -> None:
        """Start the name's program if nobody has the name, homi knows how and the
        bounds let it."""
        spawned = self._spawns.get(name)
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()
        if self._loop is None or spawned is None or spawned.run is not None:
            return
        if self._owners.owner(name) is not None:
            return
        match self._judge(spawned):
            case rule.Go():
                with tolerant():  # what cannot be counted is not started
                    self.keeper.begin(spawned, name, _nobody)
            case rule.Wait(until=until):
                # A clock that jumps is made good by the sweep.
                delay = max(0.0, until - self._clock.wall())
                self._timers[name] = self._loop.call_later(delay, self.stir, name)
            case rule.Failing():
                pass  # why() says so, until a person orders it

    def why(self, name: Name) -> tuple[Reason, float | None] | None:
        """What mail that nobody takes waits for, and until when; None: for nothing
        that is done here."""
        spawned = self._spawns.get(name)
        if spawned is None or not spawned.on_mail:
            return None
        match self._judge(spawned):
            case rule.Failing():
                return Reason.SPAWN_FAILING, None
            case rule.Wait(until=until) if spawned.run is None:
                return Reason.NO_OWNER, until
            case _:
                return None

    def _judge(self, spawned: Spawned) -> rule.Verdict:
        """Whether it may be started by itself now."""
        every = [at for each in self._spawns.all() for at in each.starts]
        now = self._clock.wall()
        verdict = rule.judge(spawned, every, now)
        if isinstance(verdict, rule.Go) and lineage.crowded(self._spawns, spawned.by):
            return rule.Wait(now + rule.BACKOFF_FIRST)
        return verdict

    def _owner(self, name: Name, _old: Session | None, new: Session | None) -> None:
        """A name has another session, or none."""
        if new is None:
            self.stir(name)


def _nobody(_what: Spawned | HomiError) -> None:
    """Mail ordered it: nobody waits."""
