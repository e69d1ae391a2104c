"""Whom each number stands for: its socket and its record, in step with the names.

Owns what is bound and what is listed, by the names and by who has them; nobody calls
it for that.  homi-address(7) says who steps aside for whom.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence

import msgspec

from homi.address import Name
from homi.claims import Alias, Claim, Listed, Mirror
from homi.clock import Clock, parse_rfc3339
from homi.doors.plant import Records
from homi.doors.sockets import Sockets, clear_leftover
from homi.names import Names
from homi.owners import Owners
from homi.peers.registry import Planter

log = logging.getLogger("homi.peer")

PLANTED_A_TURN = 32


class Numbers:
    """Every number of this state root."""

    def __init__(
        self, names: Names, owners: Owners, planters: Sequence[Planter], clock: Clock
    ) -> None:
        """Subscribes to names and owners; nothing is bound before open()."""
        self._names = names
        self._owners = owners
        self._clock = clock
        self._records = Records(planters, clock.monotonic)
        self._listed: dict[int, Listed] = {}
        self.address: dict[int, str] = {}  # whom a number stands for
        self._running = False
        names.subscribe(self._on_claim)
        names.aliases.subscribe(self._on_alias)
        names.mirrors.subscribe(self._on_mirrors)
        names.subscribe_desk(self._on_desk)
        owners.on_taken(self._on_taken)

    @property
    def unlisted(self) -> dict[str, str]:
        """Names whose record does not stand where sessions look, and why not."""
        return self._records.unlisted

    def open(self, sockets: Sockets, *, goes_on: bool = False) -> None:
        """Take leftovers of an earlier run away and bind every number.  goes_on: what
        is listed was ours a moment ago, and stays until it is looked at."""
        self._sockets = sockets
        names = self._names
        listed: list[Listed] = [*names.all(), *names.aliases.all()]
        self._listed = {each.number: each for each in [*listed, *names.mirrors.all()]}
        self._goes_on = goes_on
        swept = self._records.sweep(self._listed.keys() if goes_on else frozenset())
        self.address = names.desk_numbers()
        for each in self._listed.values():
            self.address[each.number] = _address(each)
        for number in self.address:
            sockets.open(number)
        bound = {listener.path for listener in sockets.bound.values()}
        for path in swept.values():
            if path not in bound:
                clear_leftover(path)
        self._running = True

    async def show_all(self) -> None:
        """Plant what nobody has, and let the loop have its turns: who connects while
        a slow disk takes a thousand records must not wait for the last."""
        for count, number in enumerate(list(self._listed)):
            if (each := self._listed.get(number)) is not None:
                self._show(each)
            if count % PLANTED_A_TURN == 0:
                await asyncio.sleep(0)
        if self._goes_on:
            self._records.sweep(set(self._records.numbers()))

    def close(self) -> None:
        """List nothing any more; the sockets are whoever's opened them."""
        self._running = False
        self._records.hide_all()

    def leave(self) -> None:
        """Do nothing any more; what is listed stays listed."""
        self._running = False

    def check(self, numbers: set[int] | None) -> None:
        """Files of these numbers changed (None: of any): put right what is missing."""
        if not self._running:
            return
        # A notice may come late: a number that was retired since is not bound again.
        stand = self.address.keys()
        concerned = list(stand) if numbers is None else numbers & stand
        self._sockets.repair(concerned)
        for number in concerned:
            self._records.check(number)
        if numbers is None:
            for each in list(self._listed.values()):
                self._show(each)

    def _on_claim(self, name: Name, claim: Claim | None) -> None:
        """A claim was made, changed or ended; an alias of that name hides behind it,
        and a mirror takes another name."""
        self._make_way(name)
        mine = (each for each in self._listed.values() if isinstance(each, Claim))
        self._changed(next((each for each in mine if each.name == name), None), claim)
        alias = self._names.aliases.get(name)
        if self._running and alias is not None:
            self._show(alias)
        self._look(self._names.mirrors.concerned(name))

    def _on_alias(self, name: Name, alias: Alias | None) -> None:
        """An alias was made, changed or ended."""
        self._make_way(name)
        mine = (each for each in self._listed.values() if isinstance(each, Alias))
        self._changed(next((each for each in mine if each.name == name), None), alias)
        self._look(self._names.mirrors.concerned(name))

    def _on_mirrors(self) -> None:
        """Mirrors came, ended, were withdrawn or are back: of two that want one name
        the record of the first must be away before there is another."""
        if not self._running:
            return
        now = {each.number: each for each in self._names.mirrors.all()}
        desk = self._names.desk_numbers()
        for number, each in list(self._listed.items()):
            if isinstance(each, Mirror) and number not in now:
                self._records.hide(number)
                del self._listed[number]
                if number not in desk:  # else replies may still come there
                    self._sockets.close(number)
                    self.address.pop(number, None)
        for number, mirror in now.items():
            self._listed[number] = mirror
            self.address[number] = mirror.to
            self._sockets.open(number)
        for name in self._names.mirrors.wanted():
            self._make_way(name)
        self._look(now.values())

    def _make_way(self, name: Name) -> None:
        """Take away the records of mirrors that may not be listed so any more."""
        for mirror in self._names.mirrors.concerned(name) if self._running else ():
            shown = self._records.shown(mirror.number)
            if shown and shown != self._local(mirror):
                self._records.hide(mirror.number)

    def _look(self, mirrors: Iterable[Mirror]) -> None:
        """List each of these that may be."""
        for mirror in mirrors if self._running else ():
            self._show(mirror)

    def _local(self, mirror: Mirror) -> Name | None:
        """The name a mirror is to be listed under now; None: it is not to be."""
        mirrors = self._names.mirrors
        if mirrors.withdrawn(mirror.device) or mirrors.get(mirror.to) is None:
            return None
        return mirrors.listing(mirror, self._owners.has).name

    def _changed(self, before: Listed | None, now: Listed | None) -> None:
        """Let now stand for before."""
        if not self._running:
            return
        if before is not None and (now is None or now.number != before.number):
            self._records.hide(before.number)
            self._sockets.close(before.number)
            del self.address[before.number], self._listed[before.number]
        elif before is not None and now is not None and before.cwd != now.cwd:
            self._records.hide(now.number)  # its record says the folder
        if now is not None:
            self._listed[now.number] = now
            self.address[now.number] = now.name
            self._sockets.open(now.number)
            self._show(now)

    def _on_taken(self, name: Name) -> None:
        """Step aside for a session that goes by the name, come back when it is gone;
        keep listening."""
        if not self._running:
            return
        self._make_way(name)
        for each in list(self._listed.values()):
            if each.name == name and not isinstance(each, Mirror):
                self._show(each)
        self._look(self._names.mirrors.concerned(name))

    def _on_desk(self, number: int, address: str | None) -> None:
        """A desk number was allotted or retired."""
        if not self._running:
            return
        if address is None:
            self._sockets.close(number)
            self.address.pop(number, None)
        else:
            self.address[number] = address
            self._sockets.open(number)

    def _show(self, each: Listed) -> None:
        """List it if it may be: bound, and no session goes by its name.  Else not."""
        if each.built_in or each.number not in self._sockets.bound:
            return
        if isinstance(each, Mirror):
            self._show_mirror(each)
            return
        if self._owners.taken(each.name) or not self._stands(each):
            self._records.hide(each.number)
            return
        started = _wall(each.at, self._clock.wall())
        self._records.show(each, self._sockets.path(each.number), started)

    def _show_mirror(self, mirror: Mirror) -> None:
        """List it under the name it may have now."""
        name = self._local(mirror)
        if name != self._records.shown(mirror.number):
            self._records.hide(mirror.number)
        if name is not None:
            started = _wall(mirror.at, self._clock.wall())
            record = msgspec.structs.replace(mirror, name=name)
            self._records.show(record, self._sockets.path(mirror.number), started)

    def _stands(self, each: Claim | Alias) -> bool:
        """Whether it is still there, and its name is not another's by now."""
        claim = self._names.get(each.name)
        if isinstance(each, Claim):
            return claim is not None
        # An alias whose name a first mail has claimed stands behind that claim.
        return claim is None and self._names.aliases.get(each.name) is not None


def _address(each: Listed) -> str:
    """Whom what is written to its socket is for."""
    return each.to if isinstance(each, Mirror) else each.name


def _wall(at: str, default: float) -> float:
    """An RFC 3339 time as wall seconds, the default where it is none."""
    try:
        return parse_rfc3339(at)
    except ValueError:
        return default
