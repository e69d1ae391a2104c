"""What is read of one session process while it has letters of ours.

Owns its tails and its cases, and the state that conclusions look at.  Starts no
timers and tells nobody: the witness does both.
"""

import msgspec

from homi.envelope import MessageId, SessionRef
from homi.legs.base import Evidence, NoProof, Taken
from homi.legs.tail import Tail, facts_between, find, lines_with
from homi.legs.transcript import Fact, What, read_line
from homi.legs.verdict import Case, Doubt, Maker, View
from homi.sessions import Session


class Found(msgspec.Struct, frozen=True):
    """Evidence, and the conversation of the process it is about."""

    session: SessionRef
    evidence: Evidence


def projects_of(session: Session) -> str:
    """The folder of the transcripts, beside the one the session's record is in."""
    return f"{session.config_dir}/projects"


def taken_at(path: str, message: MessageId, ours: Maker) -> int | None:
    """The offset of the line that took message in, None where there is none; the
    whole file is searched for the id's bytes, and only lines with them are read."""
    for start, line in lines_with(path, message.encode("ascii", "replace")):
        if any(_is_taken(fact, message, ours) for fact in read_line(line)):
            return start
    return None


def taken_before(session: Session, message: MessageId, ours: Maker) -> bool:
    """Whether the session's present conversation holds message."""
    path = find(projects_of(session), session.session_id)
    return path is not None and taken_at(path, message, ours) is not None


class Reading:
    """One process: its conversations, its letters, its state."""

    def __init__(self, session: Session, ours: Maker, now: float) -> None:
        """Follows nothing before add()."""
        self.session = session
        self.cases: dict[MessageId, Case] = {}
        self.found: list[Found] = []  # for the witness to take
        self.doubt: Doubt | None = None
        self.matched = False
        self.stirred = now  # last sign of life
        self._ours = ours
        self._tails: dict[str, Tail] = {}
        self._followers: dict[str, list[Case]] = {}
        self._behind: list[tuple[Case, Tail]] = []
        self._since = now
        self._idle_since: float | None = None
        self._busy_at: float | None = None
        self._note_status(session, now)

    @property
    def waits(self) -> bool:
        """Whether time alone can still change something."""
        return any(not case.settled for case in self.cases.values())

    @property
    def read_in(self) -> list[str]:
        """The conversations that are read."""
        return list(self._tails)

    def add(self, case: Case, *, searched: bool) -> None:
        """Follow case from here on, in this conversation and those that come.

        searched: the file is known not to hold it.  An earlier case of the same id is
        replaced, and what it left in older conversations counts no more.
        """
        self.drop(case.id)
        self.cases[case.id] = case
        self._follow(case, self.session.session_id, searched=searched)

    def drop(self, message: MessageId) -> None:
        """Follow it no more; conversations that nobody is in are left."""
        case = self.cases.pop(message, None)
        self._behind = [pair for pair in self._behind if pair[0] is not case]
        for conversation, cases in list(self._followers.items()):
            if case in cases:
                cases.remove(case)
            if not cases:
                del self._followers[conversation]
                self._tails.pop(conversation, None)

    def update(self, session: Session, now: float) -> None:
        """Its record changed.  A letter in the queue may turn up in the old or in the
        new conversation: the queue belongs to the process."""
        moved = session.session_id != self.session.session_id
        self._note_status(session, now)
        self.session = session
        self.stirred = now
        if moved:
            self._since = now
            self.doubt = None  # it was about the other transcript
            for case in self.cases.values():
                self._follow(case, session.session_id, searched=False)

    def read(self) -> bool:
        """Read on in every file; whether there is more to read at once."""
        behind, self._behind = self._behind, []
        for case, tail in behind:
            self._catch_up(case, tail)
        more = False
        for conversation, tail in self._tails.items():
            facts, rest = tail.read()
            more |= rest
            for fact in facts:
                for case in self._followers[conversation]:
                    self._keep(case.learn(fact, conversation), conversation)
        return more

    def conclude(self, now: float, *, matched: bool) -> None:
        """Draw what conclusions there are; matched: this transcript was good once."""
        view = View(
            conversation=self.session.session_id,
            since=self._since,
            idle_since=self._idle_since,
            busy_at=self._busy_at,
            has_file=any(tail.path is not None for tail in self._tails.values()),
            matched=matched or self.matched,
        )
        for case in self.cases.values():
            evidence = case.conclude(view, now)
            if isinstance(evidence, NoProof):
                self.doubt = case.doubt or self.doubt
            self._keep(evidence, self.session.session_id)

    def folders(self) -> set[str]:
        """Where something can move: the folders of the files; while one is not there
        yet, the folder in which its folder may appear."""
        return {
            tail.projects if tail.path is None else tail.path.rpartition("/")[0]
            for tail in self._tails.values()
        }

    def concerns(self, name: str) -> bool:
        """Whether something of that name in one of folders() may be news."""
        stem = name.removesuffix(".jsonl")
        return (
            not name
            or stem in self._tails
            or any(tail.path is None for tail in self._tails.values())
        )

    def _follow(self, case: Case, conversation: str, *, searched: bool) -> None:
        """Let case hear of that conversation, what stands there already included."""
        if not conversation:
            return
        tail = self._tails.get(conversation)
        if tail is None:
            tail = Tail(projects_of(self.session), conversation)
            self._tails[conversation] = tail
        followers = self._followers.setdefault(conversation, [])
        if case not in followers:
            followers.append(case)
            if not searched:
                self._behind.append((case, tail))

    def _catch_up(self, case: Case, tail: Tail) -> None:
        """Tell case what stands in front of where tail reads: nothing, unless a line
        there took it in."""
        if tail.path is None:
            return
        start = taken_at(tail.path, case.id, self._ours)
        if start is None:
            return
        for fact in facts_between(tail.path, start, tail.read_to):
            self._keep(case.learn(fact, tail.conversation), tail.conversation)

    def _keep(self, evidence: Evidence | None, conversation: str) -> None:
        """Put evidence aside for the witness."""
        if evidence is None:
            return
        if isinstance(evidence, Taken):
            self.matched = True
            self.doubt = None  # what can be found by id proves the format
        ref = SessionRef(self.session.pid, self.session.start, conversation)
        self.found.append(Found(ref, evidence))

    def _note_status(self, session: Session, now: float) -> None:
        """Keep since when it is at rest, and when it last was not."""
        if session.status == "idle":
            self._idle_since = now if self._idle_since is None else self._idle_since
        else:
            self._idle_since = None
        if session.status == "busy":
            self._busy_at = now


def _is_taken(fact: Fact, message: MessageId, ours: Maker) -> bool:
    """Whether the line took message in, as far as it says written by us."""
    if fact.what is not What.TAKEN or fact.id != message:
        return message in fact.briefed
    return fact.maker is None or ours(*fact.maker)
