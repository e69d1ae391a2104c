"""The verbs about links: how they are, and what a person wants of them.

Owns who may; what is done stands above the doors, behind the protocol below.
homi-protocol(7) lists the verbs.
"""

from collections.abc import Callable
from typing import Protocol

from homi.callers import Caller
from homi.doors.answers import Answer, Doer, Reply
from homi.errors import NotAllowed, Unavailable
from homi.linked import Checked, LinkRow, LinkRows
from homi.reports import Done
from homi.requests import (
    AddLink,
    CallerClass,
    CheckLink,
    Links,
    OrderLink,
    Request,
)


class Linked(Protocol):
    """What keeps the links of this device up."""

    def rows(self, device: str | None, done: Callable[[list[LinkRow]], None]) -> None:
        """How each link is, or that one (68); done now or a moment later."""
        ...

    def now(self, device: str | None) -> list[LinkRow]:
        """The same without a measurement."""
        ...

    def add(self, request: AddLink) -> Done:
        """Keep what is given of a device."""
        ...

    def order(self, request: OrderLink) -> Done:
        """Remove, pause or resume a link; 68 where there is none."""
        ...

    def check(self, device: str, done: Callable[[Checked], None]) -> None:
        """Probe a link; done when all is known.  68 where there is none."""
        ...


class Linking:
    """The verbs about links for one caller."""

    def __init__(self, links: Callable[[], Linked | None], caller: Caller) -> None:
        """links: None before they are built."""
        self._caller = caller
        self._links = links
        self._gone = False

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {
            Links: self._list,
            AddLink: self._add,
            OrderLink: self._order,
            CheckLink: self._check,
        }

    def abandon(self) -> None:
        """Nobody waits for an answer any more."""
        self._gone = True

    def _list(self, request: Links, reply: Reply) -> None:
        """Answered at once, or when what was asked came back."""
        if not request.probe:
            reply(request.i, LinkRows(self._need().now(request.device)))
            return
        told = self._once(request.i, reply)
        self._need().rows(request.device, lambda rows: told(LinkRows(rows)))

    def _add(self, request: AddLink, reply: Reply) -> None:
        """Answered when it is on disk."""
        if request.seats and self._caller.caller is not CallerClass.PERSON:
            raise NotAllowed(
                "that a device may drive the seats here only a person says",
                hint=f"at a terminal: homi link add {request.device} --allow-seats",
            )
        reply(request.i, self._need().add(request))

    def _order(self, request: OrderLink, reply: Reply) -> None:
        """Answered when it is on disk."""
        reply(request.i, self._need().order(request))

    def _check(self, request: CheckLink, reply: Reply) -> None:
        """Answered when every probe is settled."""
        self._need().check(request.device, self._once(request.i, reply))

    def _once(self, i: int, reply: Reply) -> Callable[[Answer], None]:
        """The way back, unless the caller went away meanwhile."""

        def told(answer: Answer) -> None:
            if not self._gone:
                reply(i, answer)

        return told

    def _need(self) -> Linked:
        """What keeps the links; 69 while the daemon starts."""
        links = self._links()
        if links is None:
            raise Unavailable("the daemon is starting")
        return links
