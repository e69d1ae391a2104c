"""Which live session has a claimed name now, and who must be told."""

from collections.abc import Callable

from homi.address import Name
from homi.envelope import SessionRef
from homi.names import Names
from homi.sessions import Session, Sessions

Subscriber = Callable[[Name, Session | None, Session | None], None]


class Owners:
    """Ownership of every claim, kept up to date by notices of both sides."""

    def __init__(self, names: Names, sessions: Sessions) -> None:
        """Subscribes to both: build it before attaching sessions."""

    def owner(self, name: Name) -> Session | None:
        """The live session that has the name."""
        raise NotImplementedError

    def others(self, name: Name) -> list[Session]:
        """Live sessions that would own the name if its owner did not."""
        raise NotImplementedError

    def unfit(self, name: Name) -> list[Session]:
        """Live sessions of that name that cannot own it: no socket, wrong folder."""
        raise NotImplementedError

    def names_of(self, ref: SessionRef) -> list[Name]:
        """The claimed names that session owns."""
        raise NotImplementedError

    def take(self, name: str, ref: SessionRef) -> Session:
        """Give the name to that live session while it lives; NoInput (66) if dead."""
        raise NotImplementedError

    def subscribe(self, callback: Subscriber) -> None:
        """Call back with (name, old, new) when another session owns it, in order of
        subscription; a changed status or conversation of the same owner is not told."""
        raise NotImplementedError
