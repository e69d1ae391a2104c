"""Checks of the daemon, and of what it starts.

Owns what an operator of it should know.  homi-doctor(1) lists the checks.
"""

import os
import re
import sys
from collections.abc import Iterator

import msgspec

from homi import __version__
from homi.dial import Absent, Lost
from homi.doctor.check import Check, Verdict, fail, remedied, warn, well
from homi.doctor.facts import Facts
from homi.doctor.tools import unit_file
from homi.errors import NotReached
from homi.spawn.rows import row
from homi.spawn.state import State
from homi.store.disk import RealDisk
from homi.store.lock import LOCK
from homi.store.whole import read_plain, read_whole, remedy
from homi.visible import visible

OPENED = 0.8  # of the descriptors it may have
SHOWN = 5  # of a kind: a hundred damaged lines are one thing to know
# What is in quarantine, or beside its place, and so gone with the next start.
_ASIDE = re.compile(
    r"(?:set|moved) aside as|a copy is|version before is in|/ring, byte \d"
)
# A journal that cannot be opened: nothing for its name is stored before a restart.
_UNUSABLE = re.compile(r"(?s)(/.+?): unusable, and its mailbox with it: .*")
FILES = 1024  # descriptors: fewer are less than the names and callers of a busy day


def _daemon(facts: Facts) -> Iterator[Verdict]:
    """A daemon runs and answers."""
    found, why = facts.asked
    if found is None:
        if isinstance(why, Absent):
            yield fail(why.text, "homi start")
        elif isinstance(why, Lost | NotReached) and (pid := _holder(facts)):
            # It may hang: an orderly end is what it does not do any more.
            yield fail(f"{why.text} (pid {pid})", f"kill -9 {pid} && homi start")
        else:
            yield remedied(fail(why.text), why.hint or "homi log -n 50 may say more")
        return
    status = found.status
    yield well(f"pid {status.pid} answers in {found.answered_ms:.1f} ms")


def _holder(facts: Facts) -> int:
    """The process that has the lock of the root; 0 for none."""
    try:
        pid = int(read_plain(facts.root / LOCK))
    except (OSError, ValueError):
        return 0
    # Another process may have that number by now: only who has the lock is told.
    return pid if facts.machine.opened(pid, facts.root / LOCK) else 0


def _version(facts: Facts) -> Iterator[Verdict]:
    """The daemon is the homi that is installed."""
    assert facts.daemon is not None
    software = facts.daemon.status.software
    if software != f"homi {__version__}":
        # A restart stays with the Python that runs it.
        own = facts.machine.python_of(facts.daemon.status.pid) in ("", sys.executable)
        text = f"the daemon is {software}{'' if own else ' of another Python'}"
        fix = "homi restart" if own else "homi stop && homi start"
        yield warn(f"{text}, this is {__version__}", fix)
    else:
        yield well(software)


def _accept(facts: Facts) -> Iterator[Verdict]:
    """It takes new mail."""
    assert facts.daemon is not None
    if (accept := facts.daemon.status.accept) != "open":
        yield fail(f"new mail is refused: {accept}", "homi restart", "mend the disk")


def _findings(facts: Facts) -> Iterator[Verdict]:
    """What it read at its start was whole, and it has nothing to say."""
    assert facts.daemon is not None
    status = facts.daemon.status
    for what in status.findings[:SHOWN]:
        if unusable := _UNUSABLE.fullmatch(what):
            hand = _to_mend(unusable[1]) or "it was mended meanwhile"
            yield fail(visible(what), "homi restart", hand)
        elif _ASIDE.search(what):
            yield warn(visible(what), "homi restart", "what it was is kept")
        else:
            yield warn(visible(what), hand="it stays there, and is passed over")
    for what in status.notes[:SHOWN]:
        yield warn(visible(what), hand="homi log -n 50 may say more")
    for told in (status.findings, status.notes):
        if len(told) > SHOWN:
            more = f"{len(told) - SHOWN} more of these"
            yield warn(more, hand="homi status lists them")


def _to_mend(path: str) -> str:
    """What a person types so that the file at path can be opened; empty: it can."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK))
    except OSError as error:
        return remedy(path, error) or f"mend {path}: {error.strerror}"
    return ""


def _files(facts: Facts) -> Iterator[Verdict]:
    """It may open enough files."""
    assert facts.daemon is not None
    opened, most = facts.machine.files(facts.daemon.status.pid)
    text = f"{opened} of {most} file descriptors are open"
    if not most:
        return
    # A restart keeps the bound: it is the same process.
    fix, hand = "homi stop && homi start", ""
    if unit_file(facts).is_file():
        fix, hand = "", f"LimitNOFILE=65536 in {unit_file(facts)}, then start it anew"
    elif facts.machine.files_most() <= most:
        hand = "ulimit -Hn 65536, as an administrator"
    if most < FILES:
        yield warn(text, fix, hand)
    elif opened > OPENED * most:
        yield fail(text, fix, hand)
    else:
        yield well(text)


def _spawns(facts: Facts) -> Iterator[Verdict]:
    """What homi starts comes up."""
    path = facts.root / "spawns.json"
    data = read_whole(RealDisk(), str(path)) if path.is_file() else None
    if data is None:
        return
    try:
        raw = msgspec.json.decode(data, type=dict[str, object])
        state = msgspec.convert(raw, State)
    except ValueError:
        return  # that is the state's to tell
    for _, one in sorted(state.spawns.items()):
        found = row(one, facts.machine.now())
        if found.state == "failing":
            said = f": {visible(found.said)}" if found.said else ""
            yield warn(
                f"{found.name} does not come up{said}",
                f"homi respawn --now {found.name}",
            )


def _wakes(facts: Facts) -> Iterator[Verdict]:
    """Every wake can fire."""
    assert facts.daemon is not None
    for one in facts.daemon.wakes.wakes:
        if one.failure:
            text = f"wake {one.id} for {one.to}: {visible(one.failure)}"
            hand = visible(one.fix) or f"mend that, or homi wake rm {one.id}"
            yield warn(text, f"homi wake run {one.id}", hand)


CHECKS = (
    Check("daemon", "a daemon runs and answers", _daemon),
    Check("version", "the daemon is the homi installed", _version, daemon=True),
    Check("accept", "new mail is taken", _accept, daemon=True),
    Check("findings", "all was whole at the start", _findings, daemon=True),
    Check(
        "descriptors",
        "the daemon may open enough files",
        _files,
        "nobody says",
        daemon=True,
    ),
    Check("spawns", "agents that homi starts come up", _spawns, "none fails"),
    Check("wakes", "every wake can fire", _wakes, "none fails", daemon=True),
)
