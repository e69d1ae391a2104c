"""Checks of the daemon, and of what it starts.

Owns what an operator of it should know.  homi-doctor(1) lists the checks.
"""

from collections.abc import Iterator

import msgspec

from homi import __version__
from homi.dial import Absent
from homi.doctor.check import Check, Verdict, fail, warn, well
from homi.doctor.facts import Facts
from homi.spawn.rows import row
from homi.spawn.state import State
from homi.visible import visible

OPENED = 0.8  # of the descriptors it may have
SHOWN = 5  # of a kind: a hundred damaged lines are one thing to know
FILES = 1024  # descriptors: fewer are less than the names and callers of a busy day


def _daemon(facts: Facts) -> Iterator[Verdict]:
    """A daemon runs and answers."""
    found, why = facts.asked
    if found is None:
        fix = "homi start" if isinstance(why, Absent) else why.hint
        yield fail(why.text, fix or "homi log -n 50")
        return
    status = found.status
    yield well(f"pid {status.pid} answers in {found.answered_ms:.1f} ms")


def _version(facts: Facts) -> Iterator[Verdict]:
    """The daemon is the homi that is installed."""
    assert facts.daemon is not None
    software = facts.daemon.status.software
    if software != f"homi {__version__}":
        yield warn(f"the daemon is {software}, this is {__version__}", "homi restart")
    else:
        yield well(software)


def _accept(facts: Facts) -> Iterator[Verdict]:
    """It takes new mail."""
    assert facts.daemon is not None
    if (accept := facts.daemon.status.accept) != "open":
        yield fail(f"new mail is refused: {accept}", "mend the disk, then homi restart")


def _findings(facts: Facts) -> Iterator[Verdict]:
    """What it read at its start was whole, and it has nothing to say."""
    assert facts.daemon is not None
    status = facts.daemon.status
    for told, fix in (
        (status.findings, "homi quarantine ls shows what was set aside; homi restart"),
        (status.notes, "homi log -n 50"),
    ):
        for what in told[:SHOWN]:
            yield warn(visible(what), fix)
        if len(told) > SHOWN:
            yield warn(f"{len(told) - SHOWN} more of these", "homi status")


def _files(facts: Facts) -> Iterator[Verdict]:
    """It may open enough files."""
    assert facts.daemon is not None
    opened, most = facts.machine.files(facts.daemon.status.pid)
    text = f"{opened} of {most} file descriptors are open"
    fix = "ulimit -Hn 65536 (or LimitNOFILE=65536 in the unit), then homi restart"
    if most and most < FILES:
        yield warn(text, fix)
    elif most and opened > OPENED * most:
        yield fail(text, fix)
    elif most:
        yield well(text)


def _spawns(facts: Facts) -> Iterator[Verdict]:
    """What homi starts comes up."""
    try:
        data = (facts.root / "spawns.json").read_bytes()
    except FileNotFoundError:
        return
    state = msgspec.convert(msgspec.json.decode(data, type=dict[str, object]), State)
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
            first = visible(one.fix)
            mend = f"{first}, then homi wake run {one.id}; or " if first else ""
            yield warn(text, f"{mend}homi wake rm {one.id}")


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
