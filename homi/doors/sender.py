"""Who wrote a line, by the kernel's word, and the message it makes.

Owns the postmark of the peer door: what a frame says of its sender is compared
with the credentials, never believed.  homi-protocol(7) has the rules.
"""

import msgspec

from homi import ids
from homi.address import RESERVED, Name, fold
from homi.envelope import MessageId, Msg, Via
from homi.errors import BadMessage
from homi.names import Names
from homi.owners import Owners
from homi.peers.frame import Message, Tag, clean_name
from homi.peers.process import ancestors
from homi.sessions import Session, Sessions
from homi.strict import check_text

UNKNOWN = Name("unknown")
PRIORITIES = frozenset({"next", "later", "now"})


class Senders:
    """Tells who is at the other end of a connection."""

    def __init__(self, names: Names, owners: Owners, sessions: Sessions) -> None:
        """Asks all three at each line: each may have changed since the last."""
        self._names = names
        self._owners = owners
        self._sessions = sessions

    def session(self, pid: int) -> Session | None:
        """The session that is this process, or the nearest one it descends from."""
        found = self._sessions.by_pid(pid)
        if found is not None or pid <= 0:
            return found
        for above in ancestors(pid)[1:]:
            if (found := self._sessions.by_pid(above)) is not None:
                return found
        return None

    def postmark(self, pid: int, uid: int, tag: Tag | None) -> tuple[Name, Via]:
        """The sender's name, and what was measured of it.

        A process that is no session is nobody: it never speaks as a claimed name,
        whatever its tag says.
        """
        session = self.session(pid)
        if session is None:
            claimed = None if tag is None else tag.from_name or tag.from_
            via = Via(door="peer", uid=uid, pid=pid, claimed_from=claimed)
            return self._nobody(pid), via
        via = Via(
            door="peer",
            uid=uid,
            pid=pid,
            session=session.session_id or None,
            session_name=session.name or None,
            verified=True,
            claimed_from=_mismatch(session, tag),
        )
        return self._name(session), via

    def _name(self, session: Session) -> Name:
        """The name it owns, else its own folded; never a reserved one."""
        owned = self._owners.names_of(session.ref)
        if len(owned) == 1:
            return owned[0]
        name = session.address
        if name is None or name in RESERVED:
            return Name(f"session-{session.pid}")
        return name

    def _nobody(self, pid: int) -> Name:
        """A name that belongs to no one here."""
        taken = self._names.get(UNKNOWN) or self._sessions.by_address(UNKNOWN)
        return Name(f"{UNKNOWN}-{pid}") if taken else UNKNOWN


def write(message: Message, tag: Tag | None, to: str, from_: Name) -> Msg:
    """The msg a frame makes; BadMessage (65) where its text cannot be one."""
    text = message.content if tag is None else tag.text
    if not text:
        raise BadMessage("the text is empty")
    check_text(text)
    return Msg(
        id=MessageId(message.msg_id or ids.new()),
        from_=from_,
        to=to,
        text=text,
        priority=message.priority if message.priority in PRIORITIES else None,
        mode=None if tag is None else tag.from_mode,
    )


def _mismatch(session: Session, tag: Tag | None) -> str | None:
    """What the tag claims that the credentials do not bear out."""
    if tag is None:
        return None
    if tag.from_name is not None and not _same_name(tag.from_name, session.name):
        return tag.from_name
    if session.socket and tag.socket != session.socket:
        return tag.from_
    return None


def _same_name(said: str, name: str) -> bool:
    """Whether the tag names the session, as its client strips and cuts names."""
    return said == name or said == clean_name(name) or fold(said) == fold(name)


def marked(via: Via) -> Via:
    """The same postmark, with the mark of a likely repeat."""
    return msgspec.structs.replace(via, repeat=True)
