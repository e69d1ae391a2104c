"""The verbs of names: claim, release, alias, unalias and set.

Owns what a caller is told of a name; names.py keeps it.  homi-claim(1) is the page.
"""

import os

from homi.address import Name, parse_address, parse_claimable
from homi.behind import aside
from homi.clock import Clock
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.remains import remains
from homi.doors.rights import Rights
from homi.errors import (
    CannotCreate,
    NoSuchDevice,
    NoSuchName,
    NotAllowed,
    NotReached,
)
from homi.reports import Aliased, Chosen, Claimed, Freed, SettingRow
from homi.requests import (
    Alias,
    CallerClass,
    Claim,
    Release,
    Request,
    Set,
    Unalias,
)
from homi.routing import check_alias, resolve
from homi.settings import LEGS, show_all


class Naming:
    """What one caller makes and ends."""

    def __init__(self, office: Office, rights: Rights, clock: Clock) -> None:
        """Holds no state of its own."""
        self._office = office
        self._rights = rights
        self._clock = clock

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {
            Claim: self._claim,
            Release: self._release,
            Alias: self._alias,
            Unalias: self._unalias,
            Set: self._set,
        }

    def _claim(self, request: Claim, reply: Reply) -> None:
        """Make a name; repeating it is no error."""
        name = parse_claimable(request.name)
        if request.take:
            self._rights.need_person("claim --take")
        if self._office.names.get(name) is None:
            self._office.no_alias(name, "claimed")
        if request.front is not None:
            self._own_front(name)
        if request.front:
            self._office.names.check_front(name)
        claim, fresh = self._office.names.claim(name, request.cwd, self._clock.wall())
        if request.front is not None:
            claim = self._office.names.front(name, on=request.front)
        if request.take:
            self._office.take(name)
        if why := self._office.unbound(claim.number):
            raise CannotCreate(f"{name} is claimed, but its socket cannot be: {why}")
        owner = self._office.owners.owner(name)
        reply(
            request.i,
            Claimed(
                name=claim.name,
                fresh=fresh,
                socket=self._office.socket_for(name),
                owner=owner.pid if owner else 0,
                front=claim.front,
                missing=self._missing(),
            ),
        )

    def _missing(self) -> str:
        """The folder that a client will make, where none has run yet."""
        folders = self._office.config.registry_folders()
        there = any(os.path.isdir(folder) for folder in folders)
        return "" if there else os.fspath(folders[0])

    def _release(self, request: Release, reply: Reply) -> None:
        """End a claim; its mail stays on disk."""
        name = parse_claimable(request.name)
        if self._rights.caller.caller is CallerClass.SESSION and not self._rights.owns(
            name
        ):
            raise NotAllowed(f"the name {name} is not this session's")
        claim = self._office.names.require(name)
        if claim.moving is not None:
            raise NotReached(
                f"{name} is on its way to {claim.moving.device}",
                hint=f"homi move {name} --abort first",
                reason="moving",
            )
        office = self._office
        _, place, to = aside(name, office.device)
        behind = office.store.known(place)
        waits = [] if behind is None else behind.pending.values()
        newer = sum(item.to == to for item in waits)
        office.names.release(name)
        pending = len(office.store.mailbox(name).pending) + newer
        left = remains(self._office, name)
        reply(request.i, Freed(f"released {name}", pending, left, newer))

    def _alias(self, request: Alias, reply: Reply) -> None:
        """Make a name lead elsewhere, if there is anything there."""
        office = self._office
        name, to = parse_claimable(request.name), parse_address(request.to)
        check_alias(name, to, office.names.aliases.leads_to, office.device)
        place = resolve(to, office.facts).to
        if office.names.aliases.get(name) is not None:
            self._own_alias(name)
        alias, before = office.names.add_alias(name, to, self._clock.wall())
        if why := office.unbound(alias.number):
            raise CannotCreate(f"{name} is an alias, but its socket cannot be: {why}")
        reply(request.i, Aliased(alias.name, alias.to, before, place))

    def _unalias(self, request: Unalias, reply: Reply) -> None:
        """End an alias; what it led to is not touched."""
        self._own_alias(request.name)
        alias = self._office.names.aliases.remove(request.name)
        reply(request.i, Aliased(alias.name, alias.to, alias.to))

    def _set(self, request: Set, reply: Reply) -> None:
        """Change what counts for a name, or show it."""
        office = self._office
        if request.pairs:
            name = self._rights.own_mailbox(request.name, "set")
            claim = office.names.choose(name, request.pairs, LEGS)
        else:
            claim = office.names.require(self._rights.mailbox(request.name))
        quiet = office.config.policy.quiet
        shown = show_all(claim.settings, LEGS, quiet, run=claim.run)
        rows = [SettingRow(*one) for one in shown]
        reply(request.i, Chosen(claim.name, rows))

    def _own_front(self, name: Name) -> None:
        """77 where a session would have another one renamed."""
        free = self._office.names.get(name) is None
        free = free and not self._office.sessions.by_address(name)
        session = self._rights.caller.caller is CallerClass.SESSION
        if session and not free and not self._rights.owns(name):
            raise NotAllowed(f"the name {name} is not this session's to be in front of")

    def _own_alias(self, name: str) -> None:
        """77 where a session would redirect mail that is for another's mailbox."""
        if self._rights.caller.caller is not CallerClass.SESSION:
            return
        alias = self._office.names.aliases.get(name)
        if alias is None:
            return
        try:
            place = resolve(parse_address(alias.to), self._office.facts)
        except (NoSuchName, NoSuchDevice):
            return  # it leads nowhere, so it is nobody's
        if not self._rights.owns(place.name):
            raise NotAllowed(f"the alias {alias.name} leads to {place.to}, another's")
