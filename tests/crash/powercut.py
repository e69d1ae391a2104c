"""Random histories of the real store over a disk that loses power.

World owns the faults and what happens when, books.Books what must be true.  Under
test is homi.store from start() to Committer and Checkpoint; its two threads take
turns at disk calls.  A seed decides everything.
"""

import os
import random
from collections import Counter
from functools import partial

from homi.errors import StorageFailed
from homi.store.batch import Batch, Entry
from homi.store.quarantine import Quarantine
from homi.store.recovery import Keep
from homi.store.start import Started, start
from tests.crash.books import PLACES, ROOT, STRANGE, STRANGER, Books, Sent, Violation
from tests.crash.fakedisk import Death, FakeDisk, Faults, File, Platter
from tests.crash.fiber import Fiber

PAGE = 4096
BOOTS = 12  # an interrupted start may be interrupted again, but not for ever


class World(Faults):
    """One history: run() it, or find a Violation."""

    def __init__(self, seed: int, *, trace: bool = False) -> None:
        self.rng = rng = random.Random(seed)
        self.platter = Platter(ROOT)
        self.log: list[str] = []
        self.books = Books(self.platter, self.log)
        self.met: Counter[str] = Counter()  # what this history went through
        self._trace = trace
        self._fiber = Fiber()
        # One ledger and many crashes find what a torn line of evidence can do.
        self._narrow = rng.random() < 0.2
        self.crashes = 3 if self._narrow else rng.choice((0, 1, 2, 3))
        self.failures = rng.choice((0, 0, 1, 2))
        self._pace = rng.choice((12, 40, 120))  # disk calls until a death, at most
        self._switch = rng.choice((0.05, 0.3, 0.7))
        self._fuse = 0  # disk calls until a death; 0: none is due
        self._dies_writing = False
        self._size = self._some_size()
        self.queue: list[tuple[Sent, int]] = []
        self.weak: list[Entry] = []
        self.strong: list[Entry] = []
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
        elif x < 0.5 and self.books.sent:
            sent = rng.choice(list(self.books.sent.values()))
            which = rng.randrange(len(sent.bodies))
            if rng.random() < 0.3:
                which = self.books.twist(sent, rng.randrange(120))
            self.queue.append((sent, which))
        else:
            number = len(self.books.sent)
            size = 1500 if rng.random() < 0.05 else rng.randrange(120)
            # Two senders may use one id; they are two messages.
            ident = f"id-{number if rng.random() < 0.9 else 0}"
            place, uid = rng.choice(PLACES), number % 3
            sent = self.books.new(place, ident, uid, size)
            self.queue.append((sent, 0))
            if rng.random() < 0.15:
                self.queue.append((sent, 0))

    def _ledger_line(self, *, durable: bool) -> None:
        """A decision or a piece of evidence."""
        rng = self.rng
        place = "ada" if self._narrow else rng.choice(PLACES)
        entry = self.books.ledger_line(
            place, rng.randrange(1, 9), rng.randrange(40), durable=durable
        )
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
                self._ready(self._start(keep))
                return
            except Death:
                self._lose("death in a start")
            except StorageFailed as failed:
                self._lose(f"start failed: {failed.text}")
        raise Violation("no start comes through")

    def _start(self, keep: Keep) -> Started:
        """One start over what the disk holds."""
        return start(self.disk, ROOT, self._size, keep, lambda: 0.0)

    def _ready(self, started: Started) -> None:
        self.committer = started.committer
        self.books.made_good()
        self._note("started")
        self.books.check()
        self.books.check_mailboxes(started.mailboxes)

    def _round(self) -> None:
        """What the engine does with one batch, and with a store that is closed."""
        committer, rng = self.committer, self.rng
        if committer.closed and committer.checkpoint.running is None:
            self._reopen()
            return
        half = committer.between()
        count = rng.randrange(1, 5)
        tries = [(sent, which, sent.mail(which)) for sent, which in self.queue[:count]]
        del self.queue[:count]
        batch = Batch([t[2] for t in tries], self.strong, self.weak)
        self.strong, self.weak = [], []
        committer.commit(batch)
        late = self.books.answers(batch, tries)
        self.queue[:0] = [(sent, which) for sent, which, _ in late]
        self.strong = batch.late_decisions + self.strong
        self.met["full ring"] += bool(late or batch.late_decisions)
        if half is not None:
            self._note(f"checkpoint of half {half}")
            self.met["checkpoint"] += 1
            self._fiber.begin(partial(committer.checkpoint.sync_dirty, half))

    def _reopen(self) -> None:
        result = self.committer.reopen()
        self.met["reopen"] += 1
        self._note(f"reopened: {self.committer.closed or 'open'}")
        if not self.committer.closed:
            self.books.made_good()
            self.books.saved(result)

    # ---- faults ----

    def step(self, call: str, path: str) -> None:
        """Before each disk call of either thread."""
        if self._fuse:
            self._fuse -= 1
            if not self._fuse:
                self._die_at(call)
        if self._fiber.inside:
            self._fiber.pause()
        elif self._fiber.active and self.rng.random() < self._switch:
            self._other_thread()

    def taken(self, n: int) -> tuple[int, bool]:
        """A write may be short; the process may die in the middle of one."""
        if self._dies_writing:
            return self.rng.randrange(n + 1), True
        return (self.rng.randrange(1, n + 1) if self.rng.random() < 0.03 else n), False

    def fails(self, call: str, path: str) -> bool:
        """Some syncs fail, some writes find no room."""
        if not self.failures or self.rng.random() > (0.02 if call == "pwrite" else 0.1):
            return False
        self.failures -= 1
        self.books.dropped = self.books.dropped or call == "sync"
        self.met[f"failed {call}"] += 1
        self._note(f"{call} of {path} fails")
        return True

    def cutting(self, path: str, file: File, n: int) -> None:
        """What is cut from a journal must be in quarantine in the end."""
        if path.startswith((f"{ROOT}/mail/", f"{ROOT}/out/")):
            self.met["cut"] += 1
            self._note(f"cut {path} at {n}")
            self.books.cut_away(path, file, n)

    def _die_at(self, call: str) -> None:
        """Die here; in a write, in the middle of it."""
        if call == "pwrite":
            self._dies_writing = True
            return
        self.disk.dead = True
        raise Death

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
        self.books.power_cut()

    def _arm(self) -> None:
        """The next death comes after so many disk calls."""
        self._fuse = self.rng.randrange(1, self._pace) if self.crashes else 0
        self._dies_writing = False

    # ---- the end ----

    def _finish(self) -> None:
        """No more faults: everybody is answered, then the power fails once more."""
        self.crashes = self.failures = 0
        self._arm()
        self._settle()
        for sent in self.books.sent.values():
            self.queue += [(sent, which) for which in range(len(sent.bodies))]
        self._settle()
        if waiting := self.books.unanswered():
            raise Violation(f"{waiting[0].place} {waiting[0].ident} is never answered")
        self.books.check()
        if self.rng.random() < 0.5:
            self._to_rest()
        self.disk.dead = True
        self._fiber.kill()
        self._cut_power()
        self._boot()
        was = self.books.journals()
        self.disk.dead = True
        self._boot()
        if self.books.journals() != was:
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
                self.platter.lose(f"{ROOT}/ring")
                return
            if checkpoint.running is None and checkpoint.synced is None:
                checkpoint.wanted = True
            self._settle()
        raise Violation("the ring is never empty")

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
