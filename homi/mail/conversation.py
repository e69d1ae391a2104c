"""All messages of a conversation, in whichever mailboxes they are.

Owns what belongs to one: what answers what, up and down, and what has the same
thread.  The order is that of homi.mail.thread.
"""

from collections.abc import Iterable

import msgspec

from homi import ids
from homi.envelope import MessageId
from homi.mail.mail import COPIES, Mail
from homi.mail.message import Message, listed
from homi.mail.thread import tree
from homi.store.index import Entry, Query


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a conversation drawn as a tree, from its top down."""

    id: MessageId
    depth: int  # 0: nothing stands above it
    parent: MessageId | None = None  # what it stands below
    cut: bool = False  # it answers something, but that would have closed a circle
    message: Message | None  # None: others answer it, and it is not here


def branches(mail: Mail, start: MessageId, *, brief: bool = False) -> list[Branch]:
    """The conversation that start is in: every stored message of it once, answers
    below what they answer, early before late."""
    found = Conversation(mail).follow(start)
    rows = [listed(entry, brief=mail.brief(entry, brief)) for entry in found]
    return [
        Branch(
            id=node.id,
            depth=node.depth,
            parent=node.parent,
            cut=node.cut,
            message=None if node.place is None else rows[node.place],
        )
        for node in tree(found)
    ]


class Conversation:
    """A conversation as it is gathered from one of its messages."""

    def __init__(self, mail: Mail) -> None:
        """Empty; all mailboxes are looked at."""
        self._index = mail.index()
        self._found: dict[tuple[str, int, int], Entry] = {}
        self._known: set[str] = set()  # ids and threads that were followed

    def follow(self, start: MessageId) -> list[Entry]:
        """Every stored message of the conversation that start is in."""
        fresh = [start]
        while fresh:
            new = self._new(self._around(fresh))
            fresh = [one for one in dict.fromkeys(new) if one not in self._known]
        return list(self._found.values())

    def _around(self, fresh: list[MessageId]) -> Iterable[Entry]:
        """What has one of these ids, answers one, or has one as its thread."""
        self._known.update(fresh)
        yield from self._index.replies(fresh)
        for one in fresh:
            if ids.is_id(one):
                yield from self._index.find(one, None, COPIES)
            yield from self._index.search(Query(thread=one))

    def _new(self, entries: Iterable[Entry]) -> Iterable[MessageId]:
        """The ids and threads to follow from entries that were not found before."""
        for entry in entries:
            key = (entry.name, entry.segment, entry.offset)
            if key in self._found:
                continue
            self._found[key] = entry
            yield entry.id
            if entry.reply_to is not None:
                yield entry.reply_to
            if entry.thread is not None:
                yield MessageId(entry.thread)
