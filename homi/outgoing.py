"""A message as a program hands it over, and the request it becomes.

Owns the id, minted before the first try: a repeat is the same message.  Knows no
connection.  homi-python(3) is the page.
"""

from typing import TypedDict

import msgspec

from homi import ids
from homi.address import local, parse_address, parse_name
from homi.envelope import Kind, MessageId, Msg, encode
from homi.errors import BadMessage, Usage
from homi.requests import Send
from homi.strict import parse_msg


class Common(TypedDict, total=False):
    """What may be said of any message beside its text and where it goes."""

    sender: str | None
    thread: str | None
    key: str | None
    ttl: int | None
    needs: str | None


class Fields(Common, total=False):
    """What may be said of mail."""

    kind: str
    reply_to: str | None


class Question(Common, total=False):
    """What may be said of a question."""

    default: str | None
    id: str


class Outgoing(msgspec.Struct, frozen=True):
    """A message to send.  Built once, it may be sent any number of times and is
    stored once."""

    to: str  # a name, or name@device
    text: str
    sender: str | None = None  # a name of the caller's; None: the one it has
    kind: str = "mail"  # mail, ask or reply
    reply_to: str | None = None  # the whole id of the message this answers
    thread: str | None = None
    key: str | None = None  # one message for each sender, recipient and key
    ttl: int | None = None  # seconds it may wait before it expires
    needs: str | None = None  # human: given to a person alone
    default: str | None = None  # of an ask with a ttl: the answer if it expires
    id: str = msgspec.field(default_factory=ids.new)

    def request(self, i: int, own: str | None) -> Send:
        """The request that stores it, from own where no sender was given.

        Usage (64) and BadMessage (65) for what the daemon would refuse anyway.
        """
        return Send(i=i, msg=msgspec.Raw(self.raw(own)))

    def raw(self, own: str | None) -> bytes:
        """msg as it is stored, with the failures of request()."""
        sender = self.sender or own
        if not sender:
            raise Usage(
                "who writes? neither a session nor a person at a terminal calls",
                hint="sender= one of the claimed names",
            )
        try:
            raw = encode(self._msg(parse_name(sender)))
        except UnicodeEncodeError as error:
            raise BadMessage("the text holds half a character") from error
        parse_msg(raw)
        return raw

    def _msg(self, sender: str) -> Msg:
        """What is stored, with the id that its key makes."""
        to = str(local(parse_address(self.to)))
        return Msg(
            id=MessageId(ids.derived(sender, to, self.key) if self.key else self.id),
            from_=sender,
            to=to,
            text=self.text,
            kind=_kind(self.kind, self.reply_to),
            thread=self.thread,
            reply_to=None if self.reply_to is None else MessageId(self.reply_to),
            ttl_s=self.ttl,
            needs=self.needs,
            default=self.default,
        )


def _kind(kind: str, reply_to: str | None) -> Kind:
    """The kind by its word; what answers something is a reply unless it says so."""
    try:
        found = Kind(kind)
    except ValueError:
        raise Usage(f"no kind {kind[:32]!r}", hint="mail, ask or reply") from None
    return Kind.REPLY if reply_to is not None and found is Kind.MAIL else found
