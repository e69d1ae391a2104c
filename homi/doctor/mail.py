"""Checks of what is stored, and of what waits.

Owns what makes stored mail unreadable or late.  homi-doctor(1) lists the checks.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from homi.address import OWNER, Name
from homi.clock import parse_rfc3339
from homi.doctor.check import Check, Verdict, fail, unread, warn, well
from homi.doctor.facts import Facts
from homi.envelope import Reason
from homi.render import age
from homi.shell import quoted
from homi.store import pickup, reading, refusals
from homi.store.archive import segments
from homi.store.database import FILE
from homi.store.disk import RealDisk
from homi.store.index import Index
from homi.store.lines import Finding, Unreadable
from homi.store.places import LEDGER, device_of, folder_of, inbox_in, places, titled
from homi.store.ring import Ring
from homi.store.whole import aside_by_hand

SHOWN = 5  # of a kind: a hundred damaged lines are one thing to know
OLD = 86_400.0  # s that mail waits until it is said
STALE = 60.0  # s a submission lies in pickup/ beside a daemon that should take it
BEHIND = 64 << 20  # bytes of journals that a search would have to read first
RING = "ring"
_LET_GO = "homi queue release ID lets it go, homi queue bounce ID sends it back"
_GO_ON = "homi continue ID lets that chain go on, homi queue shows all of it"
# What no time and no other program lets go: a person decides; the fix, and what is
# done by hand.
PERSON = {
    Reason.BUDGET: ("", _GO_ON),
    Reason.LOOP: ("", _GO_ON),
    Reason.POLICY: ("", _LET_GO),
    Reason.SCAN: ("", _LET_GO),
    Reason.APPROVAL: ("", "answer its dialog, or homi seat respond SEAT OPTION"),
    Reason.HOST_HELD: ("", "answer the dialog of the session"),
    Reason.HOST_REFUSED: ("", 'set "crossSessionInbound": "accept" for that session'),
    Reason.SPAWN_FAILING: ("homi respawn --now NAME", ""),
    Reason.AUTH: ("homi link check DEVICE", ""),
    Reason.HOST_KEY: ("homi link check DEVICE", ""),
    Reason.DEVICE_KEY: ("homi link check DEVICE", ""),
    Reason.OPERATOR: ("", _LET_GO),
}


def _journals(facts: Facts) -> Iterator[Verdict]:
    """Every line of every journal is a record."""
    if not facts.there:
        return
    boxes, count = 0, 0
    for name in places(RealDisk(), os.fspath(facts.root)):
        boxes += 1
        lost: list[Finding] = []
        for path, read in _files(facts.root, name):
            try:
                for offset, record in read(path):
                    count += 1
                    if isinstance(record, Unreadable):
                        lost.append(Finding(os.fspath(path), offset, record.text))
            except OSError as error:
                yield unread(error)
        for what in lost[:SHOWN]:
            text = f"{what.path}: at offset {what.offset}: {what.text}"
            yield warn(text, hand=_cut(what))
        if len(lost) > SHOWN:
            more = f"{len(lost) - SHOWN} more in {titled(name)}"
            yield warn(more, hand="homi status lists them after the next restart")
    yield well(f"{count} lines in {boxes} places can be read")


def _cut(what: Finding) -> str:
    """How a person looks at it; no command makes it readable."""
    path = quoted(what.path)
    return f"it is passed over; tail -c +{what.offset + 1} {path} | head -n 1"


Reader = Callable[[Path], Iterator[tuple[int, object]]]


def _files(root: Path, name: Name) -> Iterator[tuple[Path, Reader]]:
    """The journals of a place, those of closed segments too."""
    folder = root / folder_of(name)
    inbox: Reader = reading.iter_inbox
    ledger: Reader = reading.iter_ledger
    for segment in segments(RealDisk(), os.fspath(folder)):
        yield folder / segment.inbox, inbox
        yield folder / segment.ledger, ledger
    yield folder / inbox_in(os.fspath(folder)), inbox
    yield folder / LEDGER, ledger


def _ring(facts: Facts) -> Iterator[Verdict]:
    """What the ring still holds can be read."""
    path = facts.root / RING
    if facts.daemon is not None:
        status = facts.daemon.status
        if status.ring_mib != facts.config.ring:
            text = f"the ring has {status.ring_mib} MiB, homi.toml says"
            yield warn(f"{text} {facts.config.ring}", "homi restart")
        else:
            yield well(f"{status.ring_mib} MiB, in use by the daemon")
        return
    if not path.is_file():
        return
    ring = Ring(RealDisk(), os.fspath(path), 0)
    try:
        scan = ring.scan()
    finally:
        ring.close()
    for what in scan.findings[:SHOWN]:
        yield warn(
            f"{what.path}: at offset {what.offset}: {what.text}",
            "homi start",
            "what counts is redone, and the ring is new",
        )
    yield well(f"{len(scan.records)} lines are to be redone at the next start")


def _index(facts: Facts) -> Iterator[Verdict]:
    """The index can be used, and knows nearly all."""
    if not facts.there:
        return
    with Index.open(facts.root) as index:
        if index.in_memory:
            yield _unwritable(facts.root / FILE, locked=index.locked)
            return
        size, behind = index.lag()
    text = f"{size / (1 << 20):.1f} MiB, {behind} bytes of the journals to be read"
    yield warn(text, "homi queue --shape") if behind > BEHIND else well(text)


def _unwritable(path: Path, *, locked: bool) -> Verdict:
    """Why the index stands in memory only; it can be made anew at any time."""
    text = "the index cannot be written: each listing reads all mail"
    name = quoted(path)
    if locked:
        return warn(text, hand=f"end the program that keeps it locked: fuser {name}")
    if os.path.lexists(path) and not (path.is_file() and not path.is_symlink()):
        return warn(text, f"mv {name} {name}.aside")
    if os.path.lexists(path) and not os.access(path, os.R_OK | os.W_OK):
        return warn(text, f"chmod u+rw {name}")
    return warn(text, hand=f"see that {path.parent} can be written")


def _pickup(facts: Facts) -> Iterator[Verdict]:
    """What was sent without the daemon is taken in."""
    there, now = facts.root.joinpath(pickup.FOLDER).is_dir(), facts.machine.now()
    found = pickup.scan(facts.root) if there else []
    bad = [(path, one) for path, one in found if isinstance(one, Unreadable)]
    for path, one in bad[:SHOWN]:
        if one.text != pickup.UNFINISHED:
            fix = "homi restart" if facts.daemon else "homi start"
            yield warn(f"{path} cannot be read", fix, "a start sets it aside")
        elif _age(path, now) > STALE:
            fix = aside_by_hand(path, facts.root)
            yield warn(f"{path} was never finished", fix)
    sound = [path for path, one in found if not isinstance(one, Unreadable)]
    if sound and facts.daemon is None:
        yield warn(f"{len(sound)} messages wait to be stored", "homi start")
        return
    old = [path for path in sound if _age(path, now) > STALE]
    if old:
        text = f"{len(old)} messages are not taken in by the daemon"
        yield fail(f"{text}, the first is {old[0]}", "homi restart")


def _age(path: Path, now: float) -> float:
    """How long a file is there; 0 where it just went."""
    try:
        return now - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _quarantine(facts: Facts) -> Iterator[Verdict]:
    """Nothing was refused that somebody should look at."""
    found = list(refusals.entries(os.fspath(facts.root))) if facts.there else []
    if found:
        newest = found[-1].entry
        each = f"homi quarantine show {newest.id}"
        yield warn(
            f"{len(found)} in quarantine, the newest for {newest.reason}",
            hand=f"{each}; homi quarantine release lets in, drop throws away",
        )


def _oldest(facts: Facts) -> Iterator[Verdict]:
    """No mail waits for days."""
    if not facts.there:
        return
    mail, now = facts.mail, facts.machine.now()
    total = 0
    with mail:
        waiting = mail.waiting(mail.places())
        late = [name for name, (_, at) in waiting.items() if at and _old(at, now)]
        first = {name: mail.index([name]).pending(name)[0].id for name in late}
    for name, (count, oldest) in sorted(waiting.items()):
        total += count
        if name not in first:
            continue
        device = device_of(name)
        since = age(now - parse_rfc3339(oldest))
        text = f"{count} wait in {titled(name)}, the oldest for {since}"
        hand = f"start a session called {name}"
        if device is not None:
            hand = f"homi link check {device} says why"
        elif name == OWNER:
            hand = "homi inbox, and homi read ID"
        back = f"homi queue bounce {first[name]} sends the first back"
        yield warn(text, hand=f"{hand}; {back}")
    yield well(f"{total} messages wait")


def _old(at: str, now: float) -> bool:
    """Whether mail of that time waits too long."""
    return now - parse_rfc3339(at) >= OLD


def _holds(facts: Facts) -> Iterator[Verdict]:
    """Nothing waits for a person's decision; the first of each name and reason."""
    assert facts.daemon is not None
    found: dict[tuple[str, str], list[str]] = {}
    for row in facts.daemon.queue.rows:
        if row.reason in PERSON:
            found.setdefault((row.name, row.reason), []).append(row.id)
    for (name, reason), waiting in found.items():
        device = device_of(Name(name)) or "DEVICE"
        fix, hand = PERSON[Reason(reason)]
        for word, value in (("ID", waiting[0]), ("NAME", name), ("DEVICE", device)):
            fix, hand = (re.sub(rf"\b{word}\b", value, one) for one in (fix, hand))
        more = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
        yield warn(f"{waiting[0]}{more} for {name} waits: {reason}", fix, hand)


CHECKS = (
    Check(
        "journals",
        "every stored line can be read",
        _journals,
        "nothing is stored yet",
        slow=True,
    ),
    Check("ring", "what was promised last can be redone", _ring, "there is none yet"),
    Check("index", "searches and listings know all mail", _index, "there is none yet"),
    Check("pickup", "what was sent without a daemon is stored", _pickup, "it is empty"),
    Check("quarantine", "nothing was refused", _quarantine, "it is empty"),
    Check("oldest", "no mail waits for days", _oldest, "no mail waits"),
    Check("holds", "no mail waits for a person", _holds, daemon=True),
)
