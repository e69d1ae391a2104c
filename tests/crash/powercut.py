"""Random histories of the real store over a disk that loses power.

World owns the senders, the faults and what must be true; the code under test is
homi.store from start() to Committer and Checkpoint, with its two threads taking
turns at disk calls.  A seed decides everything.
"""

import os
import random
from collections import Counter
from collections.abc import Callable
from functools import partial

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
from homi.errors import StorageFailed
from homi.store.base import Kept, Mail
from homi.store.batch import Batch, Entry, Reopened
from homi.store.quarantine import Quarantine
from homi.store.start import Started, start
from tests.crash.fakedisk import Death, FakeDisk, Faults, File, Platter
from tests.crash.fiber import Fiber

ROOT = "/h"
PAGE = 4096
AT = "2026-11-29T22:30:00.123Z"
PLACES = ("ada", "ada", "bob")
STRANGER = f"{ROOT}/mail/zoe/inbox.jsonl"  # nobody writes there
STRANGE = b'{"v":1,"se\n\0\0\xff what\n'
BOOTS = 12  # an interrupted start may be interrupted again, but not for ever


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

    def mail(self, which: int, done: Callable[[Mail], None]) -> Mail:
        """The store's own object for one try."""
        msg, raw, tail = self.bodies[which]
        place = Name(self.place)
        return Mail(place, origin(self.via), msg, self.via, raw, tail, done)


class World(Faults):
    """One history: run() it, or find a Violation."""

    def __init__(self, seed: int, *, trace: bool = False) -> None:
        self.rng = rng = random.Random(seed)
        self.platter = Platter(ROOT)
        self.log: list[str] = []
        self.met: Counter[str] = Counter()  # what this history went through
        self._trace = trace
        self._fiber = Fiber()
        # One ledger and many crashes find what a torn line of evidence can do.
        self._narrow = rng.random() < 0.2
        self.crashes = 3 if self._narrow else rng.choice((0, 1, 2, 3))
        self.failures = rng.choice((0, 0, 1, 2))
        self._pace = rng.choice((12, 40, 120))  # disk calls until a death, at most
        self._switch = rng.choice((0.05, 0.3, 0.7))
        self._fuse = 0
        self._size = self._some_size()
        self.dropped = False  # a failed sync may have dropped pages of the cache
        self.sent: dict[tuple[str, int, str], Sent] = {}
        self.tails: dict[bytes, tuple[Sent, int]] = {}
        self.entries: dict[str, Entry] = {}
        self.decided: dict[str, int] = {}  # answered decisions: mark -> n
        self.evidence: dict[str, int] = {}  # what a process death must not lose
        self.queue: list[tuple[Sent, int]] = []
        self.weak: list[Entry] = []
        self.strong: list[Entry] = []
        self.cuts: list[tuple[str, bytes]] = []
        self.held: list[tuple[str, bytes]] = []
        self._stranger()

    # ---- the history ----

    def run(self) -> None:
        """All of it; Violation if a promise breaks."""
        try:
            self._arm()
            self._boot()
            for _ in range(self.rng.choice((15, 30, 60))):
                try:
                    self._act()
                except Death:
                    self._die()
            self._finish()
        finally:
            self._fiber.close()

    def _act(self) -> None:
        """Something happens: a submission, a round of the committer, a switch."""
        x = self.rng.random()
        if x < 0.45:
            self._submit()
        elif x < 0.5:
            self.committer.checkpoint.wanted = True
        elif x < 0.6:
            self._other_thread()
        else:
            self._round()

    def _submit(self) -> None:
        """A new mail, the same again, a twin, another body, a ledger line."""
        rng = self.rng
        x = rng.random()
        if x < 0.3 or self._narrow:
            self._ledger_line(durable=rng.random() < 0.5)
        elif x < 0.5 and self.sent:
            sent = rng.choice(list(self.sent.values()))
            which = rng.randrange(len(sent.bodies))
            if rng.random() < 0.3:
                which = self._known(sent, sent.twist(rng.randrange(120)))
            self.queue.append((sent, which))
        else:
            number = len(self.sent)
            size = 1500 if rng.random() < 0.05 else rng.randrange(120)
            # Two senders may use one id; they are two messages.
            ident = f"id-{number if rng.random() < 0.9 else 0}"
            place, uid = rng.choice(PLACES), number % 3
            sent = self.sent.setdefault(
                (place, uid, ident), Sent(place, ident, uid, size)
            )
            self.queue.append((sent, self._known(sent, 0)))
            if rng.random() < 0.15:
                self.queue.append((sent, 0))

    def _known(self, sent: Sent, which: int) -> int:
        self.tails[sent.bodies[which][2]] = (sent, which)
        return which

    def _ledger_line(self, *, durable: bool) -> None:
        """A decision or a piece of evidence with a mark of its own."""
        mark = f"by {len(self.entries)} {'x' * self.rng.randrange(40)}"
        line = LedgerLine(
            seq=self.rng.randrange(1, 9),
            id=MessageId("any"),
            rung=Rung.PARKED if durable else Rung.HELD,
            at=AT,
            by=mark,
        )
        place = "ada" if self._narrow else self.rng.choice(PLACES)
        entry = Entry(place, line, None)
        self.entries[mark] = entry
        (self.strong if durable else self.weak).append(entry)

    # ---- the process ----

    def _boot(self) -> None:
        """Start, again and again until one start comes through; then check."""
        for _ in range(BOOTS):
            self.disk = FakeDisk(self.platter, self, self.rng)
            keep = Quarantine(ROOT, self.disk).keep
            if self.rng.random() < 0.1:
                self._size = self._some_size()
            try:
                self._ready(start(self.disk, ROOT, self._size, keep, lambda: 0.0))
                return
            except Death:
                self._lose("death in a start")
            except StorageFailed as failed:
                self._lose(f"start failed: {failed.text}")
        raise Violation("no start comes through")

    def _ready(self, started: Started) -> None:
        self.committer = started.committer
        self.boxes = started.mailboxes
        self.held += self.cuts
        self.cuts.clear()
        self._note("started")
        self.check()
        for place in set(PLACES):
            self._check_mailbox(Name(place))

    def _round(self) -> None:
        """What the engine does with one batch, and with a store that is closed."""
        committer, rng = self.committer, self.rng
        if committer.closed and committer.checkpoint.running is None:
            self._reopen()
            return
        half = committer.between()
        count = rng.randrange(1, 5)
        tries = [
            (sent, which, sent.mail(which, lambda mail: None))
            for sent, which in self.queue[:count]
        ]
        del self.queue[:count]
        batch = Batch([t[2] for t in tries], self.strong, self.weak)
        self.strong, self.weak = [], []
        committer.commit(batch)
        self._answers(batch, tries)
        if half is not None:
            self._note(f"checkpoint of half {half}")
            self.met["checkpoint"] += 1
            self._fiber.begin(partial(committer.checkpoint.sync_dirty, half))

    def _reopen(self) -> None:
        result = self.committer.reopen()
        self.met["reopen"] += 1
        self._note(f"reopened: {self.committer.closed or 'open'}")
        if not self.committer.closed:
            self.held += self.cuts
            self.cuts.clear()
            self._saved(result)

    def _answers(self, batch: Batch, tries: list[tuple[Sent, int, Mail]]) -> None:
        """Believe every answer: it is what a sender does."""
        late = {id(mail) for mail in batch.late_mails}
        again = []
        for sent, which, mail in tries:
            if id(mail) in late:
                again.append((sent, which))
            elif mail.kept is Kept.CONFLICT:
                self._conflict(sent, which)
            elif mail.kept is not Kept.FAILED:
                self._stored(sent, which, mail)
        self.met["full ring"] += bool(batch.late_mails or batch.late_decisions)
        self.queue[:0] = again
        self.strong = batch.late_decisions + self.strong
        for entry in batch.decisions:
            if entry.ok:
                self.decided[entry.line.by or ""] = entry.line.n
        for entry in batch.evidence:
            if entry.ok:
                self.evidence[entry.line.by or ""] = entry.line.n

    def _stored(self, sent: Sent, which: int, mail: Mail) -> None:
        """A sender was told that this body is stored under that seq."""
        self._note(f"{mail.kept.value} {sent.place} {sent.ident} seq {mail.seq}")
        if sent.stored not in (None, (which, mail.seq)):
            raise Violation(f"{sent.ident} was {sent.stored}, now {which, mail.seq}")
        sent.stored = (which, mail.seq)
        sent.answered.add(which)
        if self.dropped:
            return  # the ring holds it, the cache may have lost it
        file = self.platter.names.get(f"{ROOT}/mail/{sent.place}/inbox.jsonl")
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

    def _saved(self, result: Reopened) -> None:
        """What was refused and is stored after all stands where it says."""
        for entry in result.entries:
            target = self.decided if entry.line.rung is Rung.PARKED else self.evidence
            target[entry.line.by or ""] = entry.line.n
        for mail in result.mails:
            sent, which = self.tails[mail.tail]
            mail.kept = Kept.STORED
            self._stored(sent, which, mail)

    # ---- faults ----

    def step(self, call: str, path: str) -> None:
        """Before each disk call of either thread."""
        if self._fuse:
            self._fuse -= 1
            if not self._fuse and call != "pwrite":
                self.disk.dead = True
                raise Death
        if self._fiber.inside:
            self._fiber.pause()
        elif self._fiber.active and self.rng.random() < self._switch:
            self._other_thread()

    def taken(self, n: int) -> tuple[int, bool]:
        """A write may be short; the process may die in the middle of one."""
        if self._fuse == 1 or (self.crashes and self.rng.random() < 0.004):
            self._fuse = 0
            return self.rng.randrange(n + 1), True
        return (self.rng.randrange(1, n + 1) if self.rng.random() < 0.03 else n), False

    def fails(self, call: str, path: str) -> bool:
        """Some syncs fail, some writes find no room."""
        if not self.failures or self.rng.random() > (0.02 if call == "pwrite" else 0.1):
            return False
        self.failures -= 1
        self.dropped = self.dropped or call == "sync"
        self.met[f"failed {call}"] += 1
        self._note(f"{call} of {path} fails")
        return True

    def cutting(self, path: str, file: File, n: int) -> None:
        """What is cut from a journal must be in quarantine in the end."""
        if path.startswith(f"{ROOT}/mail/"):
            data = bytes(file.mem[n:])
            self.met["cut"] += 1
            self._note(f"cut {path} at {n}: {data[:60]!r}")
            (self.held if file.is_clean() else self.cuts).append((path, data))

    def _other_thread(self) -> None:
        """Let the checkpoint's thread make one disk call more."""
        if self._fiber.active:
            self._fiber.resume()
            if self._fiber.died:
                raise Death

    def _die(self) -> None:
        """The process died somewhere; start again."""
        self._lose("death")
        self._boot()

    def _lose(self, what: str) -> None:
        """The process is gone, perhaps the power as well."""
        self.disk.dead = True
        self.met["death in a checkpoint"] += self._fiber.active
        self._fiber.kill()
        if what.startswith("death"):
            self.crashes = max(0, self.crashes - 1)
        self.met[what.partition(":")[0]] += 1
        self._note(what)
        if self.rng.random() < 0.5:
            self._cut_power()
        self._arm()

    def _cut_power(self) -> None:
        self.met["power cut"] += 1
        self._note("power cut")
        self.platter.cut(self.rng)
        self.evidence.clear()
        self.cuts.clear()

    def _arm(self) -> None:
        """The next death comes after so many disk calls."""
        self._fuse = self.rng.randrange(1, self._pace) if self.crashes else 0

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
        for line in self._bytes(f"{ROOT}/mail/{place}/inbox.jsonl").split(b"\n")[:-1]:
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

    def _check_mailbox(self, place: Name) -> None:
        """After a start the loop's view is what the inbox holds."""
        box = self.boxes.get(place)
        for sent in self.sent.values():
            if sent.place == place and sent.stored is not None:
                _, seq = sent.stored
                if box is None or box.read(seq).seq != seq:
                    raise Violation(f"the mailbox {place} does not know {sent.ident}")

    def _check_ledger(self, place: str) -> None:
        """Every answered decision and, without a power cut, every piece of evidence."""
        found: dict[str, int] = {}
        last = 0
        for line in self._bytes(f"{ROOT}/mail/{place}/ledger.jsonl").split(b"\n")[:-1]:
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

    # ---- the end ----

    def _finish(self) -> None:
        """No more faults: everybody is answered, then the power fails once more."""
        self.crashes = self.failures = self._fuse = 0
        self._settle()
        for sent in self.sent.values():
            self.queue += [(sent, which) for which in range(len(sent.bodies))]
        self._settle()
        for sent in self.sent.values():
            if sent.stored is None or len(sent.answered) != len(sent.bodies):
                raise Violation(f"{sent.place} {sent.ident} is never answered")
        self.check()
        if self.rng.random() < 0.5:
            self._to_rest()
        self.disk.dead = True
        self._fiber.kill()
        self._cut_power()
        self._boot()
        was = self._journals()
        self.disk.dead = True
        self._boot()
        if self._journals() != was:
            raise Violation("a second recovery changed a journal")

    def _settle(self) -> None:
        """Rounds until nothing is left to do."""
        for _ in range(1000):
            checkpoint = self.committer.checkpoint
            waiting = self.queue or self.strong or self.weak or self.committer.closed
            if not (waiting or checkpoint.due or self._fiber.active):
                return
            self._round()
            self._other_thread()
        raise Violation("the store never comes to rest")

    def _to_rest(self) -> None:
        """At rest the folder alone is everything: the ring may be lost."""
        for _ in range(1000):
            checkpoint = self.committer.checkpoint
            if checkpoint.at_rest:
                self.met["at rest"] += 1
                self.disk.dead = True
                self.platter.sync_dir(ROOT)
                self.platter.unlink(f"{ROOT}/ring")
                self.platter.sync_dir(ROOT)
                return
            if checkpoint.running is None and checkpoint.synced is None:
                checkpoint.wanted = True
            self._settle()
        raise Violation("the ring is never empty")

    def _journals(self) -> dict[str, bytes]:
        prefix = f"{ROOT}/mail/"
        return {
            path: bytes(file.mem)
            for path, file in self.platter.names.items()
            if file is not None and path.startswith(prefix)
        }

    # ---- small tools ----

    def _some_size(self) -> int:
        return 2 * PAGE * self.rng.choice((3, 3, 4, 7))

    def _stranger(self) -> None:
        """A mailbox with damage in it that is none of this history's business."""
        disk = FakeDisk(self.platter, Faults(), self.rng)
        folder = os.path.dirname(STRANGER)
        disk.mkdir(os.path.dirname(folder))
        disk.mkdir(folder)
        fd = disk.open(STRANGER, os.O_RDWR | os.O_CREAT)
        disk.pwrite(fd, STRANGE, 0)
        disk.sync(fd)
        for path in (ROOT, os.path.dirname(folder), folder):
            disk.sync_dir(path)

    def _note(self, what: str) -> None:
        if self._trace:
            self.log.append(what)


def history(seed: int, *, trace: bool = False) -> tuple[str | None, World]:
    """Run one; what broke, None if nothing did."""
    world = World(seed, trace=trace)
    try:
        world.run()
    except Violation as violation:
        return str(violation), world
    return None, world
