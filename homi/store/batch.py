"""What is committed together, and what became of it.

Owns the shape of a batch on its way through the committer; does nothing itself.
"""

from collections.abc import Callable

from homi.address import Name
from homi.envelope import LedgerLine
from homi.store.base import Mail
from homi.store.dedupe import Dedupe
from homi.store.journal import Journal, Journals
from homi.store.oldids import OldIds
from homi.store.places import inbox_of, ledger_of


class Entry:
    """A ledger line on its way into a ledger.  done is called once, on the loop."""

    __slots__ = ("done", "line", "ok", "place")

    def __init__(
        self, place: Name, line: LedgerLine, done: Callable[[bool], None] | None
    ) -> None:
        """The line's n is given by the committer."""
        self.place = place
        self.line = line
        self.done = done
        self.ok = False


class Batch:
    """What is committed with one sync, and afterwards what became of it."""

    __slots__ = ("decisions", "evidence", "late_decisions", "late_mails", "mails")

    def __init__(
        self, mails: list[Mail], decisions: list[Entry], evidence: list[Entry]
    ) -> None:
        """evidence goes in front, unsynced; the rest is durable or FAILED."""
        self.mails = mails
        self.decisions = decisions
        self.evidence = evidence
        self.late_mails: list[Mail] = []  # no room in this half: not tried
        self.late_decisions: list[Entry] = []

    def size(self) -> int:
        """Bytes of its mail, about."""
        return sum([len(mail.tail) for mail in self.mails])

    def postpone(self) -> None:
        """Try nothing durable of it now: all of it is late."""
        self.late_mails, self.mails = self.mails, []
        self.late_decisions, self.decisions = self.decisions, []


class Place:
    """One mailbox or out queue as the committer knows it."""

    __slots__ = ("inbox", "known", "ledger", "name", "old")

    def __init__(self, name: str, journals: Journals) -> None:
        """Touches no disk."""
        self.name = name
        self.inbox = journals.get(inbox_of(Name(name)))
        self.ledger = journals.get(ledger_of(Name(name)))
        self.known = Dedupe()
        self.old: OldIds | None = None  # what known need not hold

    def shrink(self, old: OldIds, end: int) -> None:
        """Let old answer for the lines before that byte of the inbox, and for those in
        closed segments."""
        self.old = old
        self.known.keep(end)


class Group:
    """The lines a batch adds to one journal, and whose they are."""

    __slots__ = ("entries", "journal", "keys", "known", "lines", "mails")

    def __init__(self, journal: Journal, known: Dedupe) -> None:
        """Empty.  Either mails with their keys, or entries."""
        self.journal = journal
        self.known = known
        self.lines: list[bytes] = []
        self.mails: list[Mail] = []
        self.keys: list[int] = []
        self.entries: list[Entry] = []


class Work:
    """A batch made ready for the ring."""

    __slots__ = ("fresh", "groups", "parts", "size", "took", "trouble", "twins")

    def __init__(self) -> None:
        """Empty."""
        self.parts: list[bytes] = []
        self.size = 0
        self.groups: dict[Journal, Group] = {}
        self.fresh: dict[tuple[str, str, str], Mail] = {}
        self.twins: list[tuple[Mail, Mail]] = []  # (the later, the first)
        self.trouble = ""  # why its records are not known to be durable
        self.took = 0.0  # seconds of its sync


class Reopened:
    """What a try to reopen left for the mailboxes to learn."""

    __slots__ = ("entries", "mails", "moved")

    def __init__(self) -> None:
        """Nothing."""
        self.moved: dict[str, dict[int, int]] = {}  # mailbox -> seq -> new offset
        self.mails: list[Mail] = []  # answered FAILED, stored after all
        self.entries: list[Entry] = []
