"""Local names that lead to other addresses, as names.json keeps them.

Owns where each leads; where an address ends up is routing's.  homi-address(7).
"""

import uuid
from collections.abc import Callable, Mapping

import msgspec

from homi.address import Address, Name, nearest, show
from homi.claims import Alias
from homi.clock import rfc3339
from homi.errors import NoSuchName
from homi.routing import check_alias

Subscriber = Callable[[Name, Alias | None], None]


class Aliases:
    """Every alias by name.  Each change is on disk before its call returns."""

    def __init__(
        self,
        entries: Mapping[str, Alias],
        mint: Callable[[], int],
        save: Callable[[dict[str, Alias]], None],
    ) -> None:
        """mint gives a number nobody has; save keeps what it is given, durably."""
        self._entries = dict(entries)
        self._mint = mint
        self._save = save
        self._subscribers: list[Subscriber] = []

    def get(self, name: str) -> Alias | None:
        """The alias of that name, case folded."""
        alias = self._entries.get(name)
        if alias is None and name.isascii():
            alias = self._entries.get(name.lower())
        return alias

    def leads_to(self, name: str) -> str | None:
        """The address that name leads to as an alias."""
        alias = self.get(name)
        return None if alias is None else alias.to

    def all(self) -> list[Alias]:
        """Every alias, by name."""
        return [self._entries[name] for name in sorted(self._entries)]

    def add(self, name: Name, to: Address, now: float) -> tuple[Alias, str]:
        """Let name lead to that address; with it where it led before, if anywhere.

        now is wall seconds.  Usage (64) where it would lead back to itself.
        """
        check_alias(name, to, self.leads_to)
        before = self.get(name)
        if before is None:
            made = Alias(
                name=name,
                to=str(to),
                number=self._mint(),
                at=rfc3339(now),
                session_id=str(uuid.uuid4()),
            )
        elif before.to == str(to):
            made = before
        else:  # no longer where a name moved to
            made = msgspec.structs.replace(before, to=str(to), moved=0)
        if made != before:
            self._keep({**self._entries, name: made}, name)
        return made, "" if before is None else before.to

    def remove(self, name: str) -> Alias:
        """End an alias, and return it as it was; NoSuchName (67) with the nearest."""
        alias = self.get(name)
        if alias is None:
            near = nearest(name, self._entries)
            hint = f"did you mean {near}?" if near else "homi alias ls shows them"
            raise NoSuchName(f"no alias {show(name)} here", hint=hint)
        left = dict(self._entries)
        del left[alias.name]
        self._keep(left, alias.name)
        return alias

    def subscribe(self, callback: Subscriber) -> None:
        """Call back after one was made, changed or removed (None), in order."""
        self._subscribers.append(callback)

    def _keep(self, entries: dict[str, Alias], name: Name) -> None:
        """Let the file, then the memory, hold entries; tell what became of name."""
        self._save(entries)
        self.become(entries, name)

    def become(self, entries: Mapping[str, Alias], name: Name) -> None:
        """Hold entries, which are saved; tell what became of name if that changed."""
        before, self._entries = self._entries, dict(entries)
        if before.get(name) == self._entries.get(name):
            return
        for callback in self._subscribers:
            callback(name, entries.get(name))
