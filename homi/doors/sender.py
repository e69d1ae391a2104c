"""Who wrote a line, by the kernel's word, and the message it makes.

Owns the postmark of the peer door: what a frame says of its sender is compared
with the credentials, never believed.  homi-protocol(7) has the rules.
"""

import msgspec

from homi import ids
from homi.address import Name, fold
from homi.callers import default_name, session_above
from homi.envelope import Kind, MessageId, Msg, Via
from homi.errors import BadMessage
from homi.names import Names
from homi.owners import Owners
from homi.peers.frame import Message, Tag, clean_name
from homi.postmaster import Stamp
from homi.sessions import Session, Sessions
from homi.strict import check_text

UNKNOWN = Name("unknown")
KNOWN_MAX = 1024  # marks kept; more senders at a time cost a measurement each
PRIORITIES = frozenset({"next", "later", "now"})


class Mark:
    """The name a sender speaks as, and the postmark of its lines."""

    __slots__ = ("from_", "session", "stamp")

    def __init__(self, from_: Name, via: Via, session: Session | None) -> None:
        """session: the one that was found for the process."""
        self.from_ = from_
        self.stamp = Stamp(via, session.ref if session else None)
        self.session = session

    @property
    def via(self) -> Via:
        """What was measured."""
        return self.stamp.via


class Senders:
    """Tells who is at the other end of a connection."""

    def __init__(self, names: Names, owners: Owners, sessions: Sessions) -> None:
        """Asks all three, whose answers may change from line to line."""
        self._names = names
        self._owners = owners
        self._sessions = sessions
        self._known: dict[tuple[int, int, str | None, str | None], Mark] = {}
        names.subscribe(lambda _name, _claim: self._known.clear())
        owners.subscribe(lambda _name, _old, _new: self._known.clear())

    def mark(self, pid: int, uid: int, tag: Tag | None) -> Mark:
        """The sender's name and postmark, as of now."""
        said = (None, None) if tag is None else (tag.from_, tag.from_name)
        session = self._sessions.by_pid(pid)
        if session is None:
            return self._measure(pid, uid, tag, session_above(pid, self._sessions))
        # The same session says the same in line after line.  A session that changed
        # is another object, so that its old mark is not taken for it.
        key = (pid, uid, *said)
        known = self._known.get(key)
        if known is None or known.session is not session:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            known = self._known[key] = self._measure(pid, uid, tag, session)
        return known

    def _measure(
        self, pid: int, uid: int, tag: Tag | None, session: Session | None
    ) -> Mark:
        """Compare what the tag says with the credentials.

        A process that is no session is nobody: it never speaks as a claimed name,
        whatever its tag says.
        """
        if session is None:
            claimed = None if tag is None else tag.from_name or tag.from_
            via = Via(door="peer", uid=uid, pid=pid, claimed_from=claimed)
            return Mark(self._nobody(pid), via, None)
        via = Via(
            door="peer",
            uid=uid,
            pid=pid,
            session=session.session_id or None,
            session_name=session.name or None,
            verified=True,
            claimed_from=_mismatch(session, tag),
        )
        return Mark(self._name(session), via, session)

    def _name(self, session: Session) -> Name:
        """The name its mail is from everywhere, else one made of its pid."""
        name = default_name(session, self._owners)
        return Name(f"session-{session.pid}") if name is None else name

    def _nobody(self, pid: int) -> Name:
        """A name that belongs to no one here."""
        taken = self._names.get(UNKNOWN) or self._sessions.by_address(UNKNOWN)
        return Name(f"{UNKNOWN}-{pid}") if taken else UNKNOWN


def write(
    message: Message, tag: Tag | None, to: str, from_: Name, ask: str = ""
) -> Msg:
    """The msg a frame makes, the answer to an ask if to one; BadMessage (65) where its
    text cannot be one."""
    text = message.content if tag is None else tag.text
    if not text:
        raise BadMessage("the text is empty")
    check_text(text)
    return Msg(
        id=MessageId(message.msg_id or ids.new()),
        from_=from_,
        to=to,
        text=text,
        kind=Kind.REPLY if ask else Kind.MAIL,
        reply_to=MessageId(ask) if ask else None,
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


def repeated(stamp: Stamp) -> Stamp:
    """The same postmark, with the mark of a likely repeat."""
    again = Stamp(msgspec.structs.replace(stamp.via, repeat=True))
    again.process = stamp.process
    return again
