"""What senders were told, and what must therefore stand on the disk.

Books believes every answer of the store, as a sender does, and reads the journals
with a reader of its own.
"""

from collections.abc import Callable

from homi.address import Name
from homi.envelope import (
    LedgerLine,
    MessageId,
    Msg,
    Rung,
    Via,
    decode_ledger,
    encode,
    origin,
)
from homi.store.base import Kept, Mail
from homi.store.batch import Batch, Entry, Reopened
from homi.store.mailbox import Mailbox
from homi.store.places import inbox_of, ledger_of
from tests.crash.fakedisk import File, Platter

ROOT = "/h"
AT = "2026-11-29T22:30:00.123Z"
PLACES = ("ada", "ada", "@mini")  # a mailbox, and an out queue
STRANGER = f"{ROOT}/mail/zoe/inbox.jsonl"  # nobody writes there
STRANGE = b'{"v":1,"se\n\0\0\xff what\n'


class Violation(Exception):
    """A promise of the store is broken."""


class Sent:
    """One id of one sender to one mailbox, and the bodies it came with."""

    def __init__(self, place: str, ident: str, uid: int, size: int) -> None:
        self.place = place
        self.ident = MessageId(ident)
        self.via = Via(door="control", uid=uid)
        self.bodies = [self._body(size)]
        self.stored: tuple[int, int] | None = None  # answered: (which body, its seq)
        self.answered: set[int] = set()  # the bodies that have their answer

    def _body(self, size: int) -> tuple[Msg, bytes, bytes]:
        msg = Msg(id=self.ident, from_="eve", to=self.place, text="x" * size)
        raw = encode(msg)
        tail = b'"at":"%b","to":"%b","via":%b,"msg":%b}\n' % (
            AT.encode(),
            self.place.encode(),
            encode(self.via),
            raw,
        )
        return msg, raw, tail

    def twist(self, size: int) -> int:
        """Another body under the same id; which one it is."""
        body = self._body(size)
        if body not in self.bodies:
            self.bodies.append(body)
        return self.bodies.index(body)

    def mail(self, which: int) -> Mail:
        """The store's own object for one try."""
        msg, raw, tail = self.bodies[which]
        place = Name(self.place)
        return Mail(place, origin(self.via), msg, self.via, raw, tail, _no_answer)


def _no_answer(mail: Mail) -> None:
    """The committer never calls it; Books reads mail.kept."""


Try = tuple[Sent, int, Mail]  # which body of it, and the store's own object


class Books:
    """Everything that was sent, answered and cut away."""

    def __init__(self, platter: Platter, log: list[str]) -> None:
        self.platter = platter
        self.log = log
        self.dropped = False  # a failed sync may have dropped pages of the cache
        self.sent: dict[tuple[str, int, str], Sent] = {}
        self.tails: dict[bytes, tuple[Sent, int]] = {}
        self.entries: dict[str, Entry] = {}
        self.decided: dict[str, int] = {}  # answered decisions: mark -> n
        self.evidence: dict[str, int] = {}  # what a process death must not lose
        self.cuts: list[tuple[str, bytes]] = []  # cut, and perhaps not for good
        self.held: list[tuple[str, bytes]] = []  # to be found in quarantine

    # ---- what is sent and answered ----

    def new(self, place: str, ident: str, uid: int, size: int) -> Sent:
        """That sender's mail under that id; the same one if there is one."""
        sent = Sent(place, ident, uid, size)
        sent = self.sent.setdefault((place, uid, ident), sent)
        self.tails[sent.bodies[0][2]] = (sent, 0)
        return sent

    def twist(self, sent: Sent, size: int) -> int:
        """Another body under the same id; which one it is."""
        which = sent.twist(size)
        self.tails[sent.bodies[which][2]] = (sent, which)
        return which

    def ledger_line(
        self, place: str, seq: int, padding: int, *, durable: bool
    ) -> Entry:
        """A decision or a piece of evidence with a mark of its own."""
        mark = f"by {len(self.entries)} {'x' * padding}"
        line = LedgerLine(
            seq=seq,
            id=MessageId("any"),
            rung=Rung.PARKED if durable else Rung.HELD,
            at=AT,
            by=mark,
        )
        self.entries[mark] = Entry(place, line, None)
        return self.entries[mark]

    def answers(self, batch: Batch, tries: list[Try]) -> list[Try]:
        """Believe every answer, as a sender does; those that got none yet."""
        late = {id(mail) for mail in batch.late_mails}
        for sent, which, mail in tries:
            if id(mail) in late:
                continue
            if mail.kept is Kept.CONFLICT:
                self._conflict(sent, which)
            elif mail.kept is not Kept.FAILED:
                self._stored(sent, which, mail)
        for entry in batch.decisions + batch.evidence:
            if entry.ok:
                self._recorded(entry)
        return [one for one in tries if id(one[2]) in late]

    def saved(self, result: Reopened) -> None:
        """What was refused and is stored after all stands where it says."""
        for entry in result.entries:
            self._recorded(entry)
        for mail in result.mails:
            sent, which = self.tails[mail.tail]
            self._stored(sent, which, mail)

    def cut_away(self, path: str, file: File, n: int) -> None:
        """A journal is cut: what goes must be in quarantine in the end."""
        data = bytes(file.mem[n:])
        (self.held if file.is_clean() else self.cuts).append((path, data))

    def made_good(self) -> None:
        """A start or a reopening came through: its cuts are for good."""
        self.held += self.cuts
        self.cuts.clear()

    def power_cut(self) -> None:
        """What was never synced is owed to nobody."""
        self.evidence.clear()
        self.cuts.clear()

    def unanswered(self) -> list[Sent]:
        """The mail whose sender waits still."""
        return [
            sent
            for sent in self.sent.values()
            if sent.stored is None or len(sent.answered) != len(sent.bodies)
        ]

    def _recorded(self, entry: Entry) -> None:
        durable = entry.line.rung is Rung.PARKED
        (self.decided if durable else self.evidence)[entry.line.by or ""] = entry.line.n

    def _stored(self, sent: Sent, which: int, mail: Mail) -> None:
        """A sender was told that this body is stored under that seq."""
        self.log.append(f"{mail.kept.value} {sent.place} {sent.ident} seq {mail.seq}")
        if sent.stored not in (None, (which, mail.seq)):
            raise Violation(f"{sent.ident} was {sent.stored}, now {which, mail.seq}")
        sent.stored = (which, mail.seq)
        sent.answered.add(which)
        if self.dropped:
            return  # the ring holds it, the cache may have lost it
        file = self.platter.names.get(_path(inbox_of, sent.place))
        assert file is not None
        line = bytes(file.mem[mail.offset : mail.offset + mail.length])
        if line != b'{"v":1,"seq":%d,' % mail.seq + sent.bodies[which][2]:
            raise Violation(f"{sent.ident} does not stand where the answer says")

    def _conflict(self, sent: Sent, which: int) -> None:
        if sent.stored is not None and sent.stored[0] == which:
            raise Violation(f"{sent.ident} is stored and called a conflict")
        if len(sent.bodies) == 1:
            raise Violation(f"{sent.ident} conflicts with nothing")
        sent.answered.add(which)

    # ---- what must be true ----

    def check(self) -> None:
        """Count and compare everything that stands in the journals."""
        for place in sorted(set(PLACES)):
            self._check_inbox(place)
            self._check_ledger(place)
        kept = [
            bytes(file.mem)
            for path, file in self.platter.names.items()
            if file is not None and path.startswith(f"{ROOT}/quarantine/")
        ]
        for path, data in self.held:
            if not any(data in one for one in kept):
                raise Violation(f"cut from {path} and not in quarantine: {data!r}")
        if self._bytes(STRANGER) != STRANGE:
            raise Violation("a journal nobody wrote to has changed")

    def _check_inbox(self, place: str) -> None:
        """Every answered mail once, none invented, sequences growing."""
        found: dict[int, tuple[int, int]] = {}
        last = 0
        for line in self._bytes(_path(inbox_of, place)).split(b"\n")[:-1]:
            head, _, tail = line.partition(b',"at":')
            known = self.tails.get(b'"at":' + tail + b"\n")
            if known is None or not head.startswith(b'{"v":1,"seq":'):
                self._not_readable(line, place)
                continue
            sent, which = known
            seq = int(head[13:])
            if sent.place != place or id(sent) in found:
                raise Violation(f"{sent.ident} stands twice or in the wrong inbox")
            if seq <= last:
                raise Violation(f"sequence {seq} stands behind {last} in {place}")
            found[id(sent)] = (which, seq)
            last = seq
        for sent in self.sent.values():
            if sent.place != place:
                continue
            stands = found.get(id(sent))
            if sent.stored is not None and stands != sent.stored:
                raise Violation(f"answered {sent.ident} {sent.stored} is now {stands}")

    def check_mailboxes(self, boxes: dict[Name, Mailbox]) -> None:
        """After a start the loop's view is what the inboxes hold."""
        for sent in self.sent.values():
            if sent.stored is not None:
                box = boxes.get(Name(sent.place))
                _, seq = sent.stored
                if box is None or box.read(seq).seq != seq:
                    raise Violation(f"the mailbox does not know {sent.ident}")

    def _check_ledger(self, place: str) -> None:
        """Every answered decision and, without a power cut, every piece of evidence."""
        found: dict[str, int] = {}
        last = 0
        for line in self._bytes(_path(ledger_of, place)).split(b"\n")[:-1]:
            try:
                one = decode_ledger(line)
            except ValueError:
                continue
            entry = self.entries.get(one.by or "")
            same = entry is not None and self._same(entry.line, one)
            if entry is None or not same or entry.place != place:
                raise Violation(f"invented or damaged ledger line {line!r}")
            if one.n <= last or one.by in found:
                raise Violation(f"ledger line {one.n} stands behind {last} or twice")
            found[one.by or ""] = last = one.n
        wanted = dict(self.decided)
        if not self.dropped:
            wanted |= self.evidence
        for mark, n in wanted.items():
            if self.entries[mark].place == place and found.get(mark) != n:
                raise Violation(f"ledger line {mark} {n} is now {found.get(mark)}")

    @staticmethod
    def _same(sent: LedgerLine, stands: LedgerLine) -> bool:
        one, two = encode(sent), encode(stands)
        return one.partition(b',"seq"')[2] == two.partition(b',"seq"')[2]

    def _not_readable(self, line: bytes, place: str) -> None:
        """A stump may stand there, a line that reads as mail and is none may not."""
        try:
            readable = decode_ledger(line.replace(b'"v"', b'"n"'))
        except ValueError:
            return
        raise Violation(f"invented or damaged mail in {place}: {readable}")

    def _bytes(self, path: str) -> bytes:
        file = self.platter.names.get(path)
        return bytes(file.mem) if file is not None else b""

    def journals(self) -> dict[str, bytes]:
        prefix = f"{ROOT}/mail/", f"{ROOT}/out/"
        return {
            path: bytes(file.mem)
            for path, file in self.platter.names.items()
            if file is not None and path.startswith(prefix)
        }


def _path(journal: Callable[[Name], str], place: str) -> str:
    """Where a journal of a place stands on the platter."""
    return f"{ROOT}/{journal(Name(place))}"
