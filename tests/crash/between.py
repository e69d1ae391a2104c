"""Two devices under fire: mail both ways over a bad line, daemons that are killed, and
one state root that goes back to an old copy.

Senders note what they were promised, as those of traffic.py do; settle() holds both
ends against that: each message once, in the order of its lane, no queue left.
"""

import contextlib
import random
import shlex
import shutil
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from tests.crash.traffic import ControlSender
from tests.integration.linked import Pair
from tests.standin import lossy
from tests.standin.closing import Closing
from tests.standin.driver import ROOT
from tests.standin.place import Place, until

NAMES = ("ada", "bob", "cyd")  # on either device: a lane each
KEEPALIVE = 0.5  # s: a frame that was lost is missed by it
LINK_WAIT = 60.0  # s for a link to come up, on a busy machine
PROGRESS = 120.0  # s in which something more must have arrived


class Lane(ControlSender):
    """So many messages with given ids; goes back where its device does."""

    sender = "svc"

    def __init__(self, place: Place, to: str, count: int) -> None:
        """Nothing is sent before start()."""
        super().__init__(place, to, lambda: None)
        self.ids = [str(uuid.uuid4()) for _ in range(count)]
        self.next = 0  # all before are promised
        self.until = 0  # and from here on nothing is sent yet
        self._guard = threading.Lock()
        self._life = 0  # of the state root

    def run(self) -> None:
        """Until all is promised, or stopped."""
        while not self.stopping.is_set():
            with self._guard:
                at, life = self.next, self._life
            if at >= self.until:
                self.pause.wait(0.02)
                continue
            kept = self.once(self.ids[at], f"{self.to} {at}")
            with self._guard:
                if kept and life == self._life:
                    self.next = at + 1

    def once(self, message: str, text: str) -> bool:
        """One try; the id is safe to send again."""
        msg = {"id": message, "from": self.sender, "to": self.to, "text": text}
        try:
            answer = self._ask({"verb": "send", "msg": msg})
        except (OSError, ValueError):
            self.cut += 1
            self.close()
            self.pause.wait(0.005)
            return False
        if "ok" not in answer and answer["error"]["code"] not in ("io", "not-reached"):
            self.wrong.append(str(answer))
        return "ok" in answer

    def back(self, to: int) -> None:
        """Its device knows no more of what was promised behind that."""
        with self._guard:
            self.next = to
            self._life += 1

    @property
    def done(self) -> bool:
        """Whether all it may send is promised."""
        return self.next >= self.until


class Side:
    """One of the two devices."""

    def __init__(self, place: Place, other: str, count: int) -> None:
        """It sends so many to the names of other."""
        self.place = place
        self.other = other
        share = count // len(NAMES)
        counts = [share] * (len(NAMES) - 1) + [count - share * (len(NAMES) - 1)]
        pairs = zip(NAMES, counts, strict=True)
        self.lanes = [Lane(place, f"{name}@{other}", n) for name, n in pairs]
        self.copy: Path | None = None
        self.promised: list[int] = []
        self.forgotten = 0  # stored here behind the copy, and gone with it

    def stored(self) -> list[str]:
        """The ids in its mailboxes, in the order of each."""
        return [
            str(line["msg"]["id"])
            for name in NAMES
            for line in self.place.lines(name)
            if not line["msg"].get("auto")
        ]

    def died_and_copied(self) -> None:
        """Kill it; keep a copy of its state root as it is now, then start it."""
        self.place.kill()
        self.copy = self.place.root / "copy"
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.place.state, self.copy, ignore=_sockets)
        self.promised = [lane.next for lane in self.lanes]
        self.place.start()

    def back(self) -> None:
        """Kill it; let its state root be the copy, and start it."""
        assert self.copy is not None
        self.place.kill()
        had = len(self.stored())
        shutil.rmtree(self.place.state)
        shutil.copytree(self.copy, self.place.state)
        self.forgotten = had - len(self.stored())
        for lane, at in zip(self.lanes, self.promised, strict=True):
            lane.back(at)
        self.place.start()


class Between(Closing):
    """The pair, the bad line and the senders."""

    def __init__(self, count: int, dice: random.Random) -> None:
        """Linked and up over a good line; nobody sends yet."""
        self.dice = dice
        self._ends = contextlib.ExitStack()
        self.pair = self._ends.enter_context(Pair(KEEPALIVE))
        self.sides = [
            Side(self.pair.laptop, "mini", count),
            Side(self.pair.mini, "laptop", count),
        ]
        self.folder = self.pair.mini.root / "line"
        for side in self.sides:
            for name in (*NAMES, "svc"):
                side.place.ok("claim", name)
        lossy.order(self.folder, 0, 0)
        forced = self.pair.forced(self.pair.laptop)
        line = shlex.join(
            [sys.executable, str(ROOT / "tests/standin/lossy.py"), str(self.folder)]
        )
        self.pair.sshd.authorize(forced.replace('command="', f'command="{line} ', 1))
        self.pair.book()
        self.pair.both_up()

    def bad(self, one_in: int) -> None:
        """The line loses, doubles, turns and cuts from the next connection on."""
        lossy.order(self.folder, self.dice.randrange(1 << 32), one_in)
        self.pair.sshd.cut()

    def start(self) -> None:
        """Let all send."""
        for lane in self.lanes():
            lane.start()

    def more(self, part: float) -> None:
        """Let that part of all be sent, and wait until some of what is new has come;
        a link that waits is dialled for it."""
        before = sum(self.counts())
        for lane in self.lanes():
            lane.until = round(len(lane.ids) * part)
        new = sum(lane.until - lane.next for lane in self.lanes())
        goal = before + self.dice.randrange(1, max(2, new))
        self._wait(lambda: sum(self.counts()) >= goal or self._all(), "more comes")

    def lanes(self) -> list[Lane]:
        """Of both sides."""
        return [lane for side in self.sides for lane in side.lanes]

    def promised(self) -> bool:
        """Whether every lane is through."""
        return all(lane.done for lane in self.lanes())

    def _all(self) -> bool:
        """Whether there is no more to come."""
        return self.promised() and self._empty()

    def counts(self) -> list[int]:
        """Lines in the mailboxes of each side."""
        return [
            sum(_count(side.place.state / "mail" / name) for name in NAMES)
            for side in self.sides
        ]

    def settle(self) -> Counter[str]:
        """A good line until nothing is left; what was found, by kind."""
        lossy.order(self.folder, 0, 0)
        self.pair.sshd.cut()
        for lane in self.lanes():
            lane.until = len(lane.ids)
        self._wait(self._all, "all has come, and the queues are empty")
        for lane in self.lanes():
            lane.stop()
            lane.join(PROGRESS)
            assert not lane.is_alive(), f"{lane.to} hangs"
            lane.close()
            assert not lane.wrong, lane.wrong
        found = Counter(what.split()[0] for what in lossy.faults(self.folder))
        for here, there in (self.sides, self.sides[::-1]):
            found["cut off"] += sum(lane.cut for lane in here.lanes)
            found["stored"] += _verify(here, there)
            found["forgotten"] += here.forgotten
        return found

    def _wait(self, holds: Callable[[], bool], what: str) -> None:
        """Wait as long as something arrives."""
        seen, beat = self.counts(), threading.Event()

        def goes_on() -> bool:
            self._nudge()
            return holds() or self.counts() != seen

        while not holds():
            until(goes_on, what, PROGRESS, 0.1)
            seen = self.counts()
            beat.wait(0.02)

    def _nudge(self) -> None:
        """A person who sees that the link waits lets it try at once."""
        self.pair.laptop.homi("link", "resume", "mini")

    def _empty(self) -> bool:
        """Whether nothing waits for the other device, on either."""
        for side in self.sides:
            row = self.pair.row(side.place, side.other)
            if row["pending"]:
                return False
        return True

    def close(self) -> None:
        """End everything."""
        for lane in self.lanes():
            lane.stop()
        self._ends.close()


def _verify(here: Side, there: Side) -> int:
    """All that here sent is there, once and in order; how much it is."""
    stored = there.stored()
    doubled = [one for one, n in Counter(stored).items() if n > 1]
    assert not doubled, f"stored twice: {doubled}"
    sent = [one for lane in here.lanes for one in lane.ids]
    assert set(stored) <= set(sent), f"invented: {set(stored) - set(sent)}"
    # Also what a device had stored and told of, and lost with its disk.
    lost = set(sent) - set(stored)
    assert not lost, f"{len(lost)} lost, {sorted(lost)[:3]}"
    place = {message: at for at, message in enumerate(stored)}
    for lane in here.lanes:
        kept = [place[one] for one in lane.ids if one in place]
        late = [n for n, (one, next_) in enumerate(pairwise(kept)) if one > next_]
        assert not late, f"{lane.to}: out of order behind {late} of {len(kept)}"
    returned = [
        line["msg"]["text"]
        for name in ("svc", *NAMES)
        for line in here.place.lines(name)
        if line["msg"].get("kind") == "bounce"
    ]
    assert not returned, returned
    return len(stored)


def _count(folder: Path) -> int:
    """Lines of the inbox there."""
    try:
        return (folder / "inbox.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def _sockets(folder: str, names: list[str]) -> list[str]:
    """What no copy takes."""
    return [name for name in names if Path(folder, name).is_socket()]


def kill_at_random(
    count: int, kills: int, one_in: int, dice: random.Random
) -> Counter[str]:
    """Kill both ends under fire again and again; one goes back to its copy once.

    One in so many frames is lost, doubled, turned round or cut.
    """
    with Between(count, dice) as world:
        victim = dice.choice(world.sides)
        print(f"{victim.place.device} goes back to an old copy")
        copied, back = kills // 4, kills // 2
        world.bad(one_in)
        world.start()
        for turn in range(kills):
            world.more((turn + 1) / kills)
            if turn == copied:
                victim.died_and_copied()
            elif turn == back:
                victim.back()
            else:
                place = dice.choice(world.sides).place
                place.kill()
                place.start()
        return world.settle()
