"""Who calls: the class and the default sender of a connection's other end."""

import msgspec

from homi.address import Name
from homi.owners import Owners
from homi.requests import CallerClass
from homi.sessions import Session, Sessions


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """What the peer credentials of a connection prove."""

    caller: CallerClass
    uid: int
    pid: int
    session: Session | None = None
    name: Name | None = None  # msg.from of a caller that names none


def classify(
    pid: int, uid: int, sessions: Sessions, owners: Owners | None = None
) -> Caller:
    """The class of the process: its ancestors first, then variables and terminal."""
    raise NotImplementedError
