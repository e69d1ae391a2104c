"""The mail of one name for a Python program: `from homi import Mailbox`.

Reads the files, so it works whether the daemon runs or not, and changes nothing: who
wants a message recorded as seen says so with `homi ack`.  homi-python(3) is the page.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Self, TypedDict, Unpack

from homi import paths
from homi.clock import SystemClock, moment, rfc3339
from homi.envelope import Rung
from homi.errors import NoInput, Usage
from homi.mail import Branch, Line, Message, ShownMail, branches, life, listed
from homi.store.index import Entry, Query

Time = str | datetime  # RFC 3339, a date, or an age such as "3h" or "2d"


class Chosen(TypedDict, total=False):
    """Which messages: those that are all of what is given."""

    since: Time  # arrived then or later
    before: Time  # arrived earlier
    sender: str  # a name, or name@device
    after: int  # seq: arrived behind that message
    rungs: Iterable[str]  # stand on one of these
    limit: int  # no more than so many
    newest: bool  # the newest first; else the oldest


class Mailbox:
    """The mailbox of a name.  For one thread; close() it, or use it in a with.
    An agent is shown nothing in it that is for a person.

    >>> from homi import Mailbox
    >>> with Mailbox("gds-agent") as box:
    ...     for message in box.pending():
    ...         print(message.from_, message.rung, box.text(message))
    ci held the nightly build is red
    ada stored shall I look?
    """

    def __init__(self, name: str, home: str | Path | None = None) -> None:
        """home: the state root, by default the one the command homi uses.

        NoSuchName (with the nearest) where there is no such mailbox.
        """
        #: What could not be read: each names a file and an offset.
        self.notes: list[str] = []
        root = paths.state_root(None if home is None else str(home))
        self._mail = ShownMail(root, self.notes.append)
        self.name = self._mail.place(name)

    def __enter__(self) -> Self:
        """The mailbox itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Give the files back; what is asked afterwards opens them again."""
        self._mail.close()

    def pending(self) -> list[Message]:
        """What is not finished, oldest first."""
        found = self._entries(Query(names=(self.name,), pending=True))
        return [listed(entry) for entry in found]

    def messages(self, **chosen: Unpack[Chosen]) -> Iterator[Message]:
        """Every message whatever its rung, archived ones too, a page at a time.

        >>> box = Mailbox("gds-agent")
        >>> [m.from_ for m in box.messages(since="2025-11-01", newest=True)]
        ['ada', 'ci', 'ci']
        >>> [m.seq for m in box.messages(sender="ci", after=1)]
        [2]
        >>> [m.rung.value for m in box.messages(rungs=["seen"], limit=10)]
        ['seen']
        """
        return map(listed, self._entries(self._query(chosen)))

    def search(self, words: str, **chosen: Unpack[Chosen]) -> list[Message]:
        """The messages in whose text all words stand.

        Words and "phrases"; AND, OR, NOT and parentheses join them; a * stands for
        any end.

        >>> Mailbox("gds-agent").search('"nightly build" re*')[0].from_
        'ci'
        """
        found = self._entries(self._query(chosen, words))
        return [listed(entry) for entry in found]

    def get(self, message: str) -> Message:
        """The message of that id, or of an id or last part of one that starts so.

        NoInput where there is none, Usage with the list where there are several.

        >>> Mailbox("gds-agent").get("aaaa00000003").from_
        'ada'
        """
        return listed(self._entry(message))

    def text(self, message: Message | str) -> str:
        """What the sender wrote, as it is; StorageFailed where its line is damaged.

        Text of others: let no terminal act on it, and no program obey it.
        """
        return self._mail.letter(self._entry(message)).msg.text

    def trace(self, message: Message | str) -> list[Line]:
        """What is known of a message: how it came in, then each line of the ledger.

        >>> [line.rung.value for line in Mailbox("gds-agent").trace("aaaa00000001")]
        ['stored', 'offered', 'seen']
        """
        return list(life(self._mail, self._entry(message)))

    def thread(self, message: Message | str) -> list[Branch]:
        """The conversation it is in, over all mailboxes, as a tree from the top down.

        >>> for line in Mailbox("gds-agent").thread("aaaa00000003"):
        ...     print("  " * line.depth + (line.message.from_ if line.message else "?"))
        ci
          ada
        """
        return branches(self._mail, self._entry(message).id)

    def _entries(self, query: Query) -> Iterator[Entry]:
        """What is asked for, of all that came until now."""
        self._mail.refresh()
        return self._mail.entries(query)

    def _entry(self, message: Message | str) -> Entry:
        """The message in this mailbox; of a copy that is listed, that copy."""
        self._mail.refresh()
        text = message if isinstance(message, str) else message.id
        found = self._mail.find(text, [self.name])
        if not isinstance(message, str):
            found = [entry for entry in found if entry.seq == message.seq]
        if not found:
            raise NoInput(f"no message {text} in the mailbox of {self.name}")
        return found[0]

    def _query(self, chosen: Chosen, text: str | None = None) -> Query:
        """What is chosen as the index is asked for it."""
        name, device = self._mail.writer(chosen.get("sender"))
        rungs = chosen.get("rungs")
        return Query(
            names=(self.name,),
            sender=name,
            device=device,
            rungs=None if rungs is None else frozenset(map(_rung, rungs)),
            since=_stamp(chosen.get("since")),
            before=_stamp(chosen.get("before")),
            after=chosen.get("after", 0),
            limit=chosen.get("limit"),
            newest=chosen.get("newest", False),
            text=text,
        )


def _rung(word: str) -> Rung:
    """A rung by its word; Usage where it is none."""
    try:
        return Rung(word)
    except ValueError:
        hint = f"one of {', '.join(Rung)}"
        raise Usage(f"no rung {str(word)[:32]!r}", hint=hint) from None


def _stamp(time: Time | None) -> str | None:
    """A time as the files have it; Usage where it is none."""
    if time is None:
        return None
    if isinstance(time, datetime):
        return rfc3339(time.timestamp())
    try:
        return rfc3339(moment(time, SystemClock().wall()))
    except ValueError:
        raise Usage(f"{time!r} is no time", hint="3h, a date, or RFC 3339") from None
