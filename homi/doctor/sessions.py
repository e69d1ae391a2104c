"""Checks of the agent sessions: whether they can be reached and take mail.

Owns what keeps a live session from its mail.  homi-doctor(1) lists the checks.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from homi.doctor.check import Check, Verdict, fail, warn, well
from homi.doctor.facts import Facts
from homi.doctor.machine import numbers
from homi.doctor.state import UPDATE
from homi.peers import process, registry
from homi.reports import SessionRow
from homi.setup import claude, standing
from homi.shell import quoted
from homi.store.whole import read_plain
from homi.visible import visible

_INBOUND = re.compile(r'"crossSessionInbound"\s*:\s*"(\w+)"')
_VERSION = re.compile(r"[0-9]+\.[0-9]+(?:\.[0-9]+)*")
# Client → how a person calls it, what homi was measured against, what updates it.
KNOWN = {
    "": ("Claude Code", registry.VERSION, "claude update"),
    "codex": ("Codex", "0.171.0", "npm install -g @openai/codex"),
}
OURS = "homi:"  # what the domain of a name's record begins with
FILES = (".claude/settings.json", ".claude/settings.local.json")  # of a project


def _reached(facts: Facts) -> Iterator[Verdict]:
    """Every session and every name of ours has a socket that answers."""
    assert facts.daemon is not None
    silent = {path: one.why for path, one in facts.probes.items() if _no(one.answers)}
    for row in facts.daemon.listing.names:
        if row.socket in silent:
            why = silent[row.socket]
            yield fail(f"homi's socket of {row.name}: {why}", "homi restart")
    for session in facts.sessions:
        who = f"{visible(session.name) or 'a session'} (pid {session.pid})"
        if session.socket in silent:
            why = silent[session.socket]
            text = f"{who} does not answer: {why}"
            yield warn(text, hand=f"end it, or kill {session.pid}, and start it again")
        elif not session.reachable and not session.client and not _hooked(session):
            text = f"{who} has no socket, and none of homi's hooks"
            yield warn(text, "homi setup claude")


def _hooked(session: SessionRow) -> bool:
    """Whether the hooks of its client bring its mail."""
    folder = Path(session.record).parent.parent if session.record else claude.folder()
    return any(one.part == "hooks" for one in standing.entries("claude", folder))


def _no(answers: bool | None) -> bool:
    return answers is False


def _clients(facts: Facts) -> Iterator[Verdict]:
    """The clients are such as homi was measured against."""
    for session in facts.sessions:
        client = KNOWN.get(session.client)
        version = _VERSION.search(session.version)
        if client is None or version is None:
            continue
        name, measured, update = client
        found, known = numbers(version[0]), numbers(measured)
        if found[:2] == known[:2]:
            continue
        who = visible(session.name) or f"pid {session.pid}"
        text = f"{who} is of {name} {version[0]}, homi knows {measured}"
        if found > known:
            yield warn(text, f"{UPDATE} && homi restart")
        else:
            yield warn(text, update, "start it again behind that")


def _inbound(facts: Facts) -> Iterator[Verdict]:
    """No setting keeps letters from a session."""
    seen: set[Path] = set()
    for session in facts.sessions:
        for path in _settings(session.record, session.cwd):
            if path not in seen and (word := _told(path)) in ("hold", "refuse"):
                seen.add(path)
                who = visible(session.name) or f"pid {session.pid}"
                hand = f'write "crossSessionInbound": "accept" in {path}'
                yield warn(f"{path} has {who} {word} letters", hand=hand)


def _settings(record: str, cwd: str) -> Iterator[Path]:
    """The files of settings that count for a session."""
    if record:
        yield Path(record).parent.parent / "settings.json"
    for name in FILES if cwd else ():
        yield Path(cwd) / name


def _told(path: Path) -> str:
    """What the file says of letters; empty for nothing."""
    try:
        found = _INBOUND.findall(path.read_text("utf-8", "replace"))
    except OSError:
        return ""
    return str(found[-1]) if found else ""


def _registry(facts: Facts) -> Iterator[Verdict]:
    """Each name is of one session that answers, and nobody else lists one of ours."""
    assert facts.daemon is not None
    fights = facts.daemon.status.notes
    for row in facts.daemon.listing.names:
        text = f"{row.name}: {row.note}"
        # Else it is what a room, or a name that is bound and answers, is noted for.
        if row.note and (row.state == "held" or text in fights):
            yield warn(visible(text), hand=f"homi whois {row.name} says more")
        if row.others:
            pids = ", ".join(map(str, row.others))
            text = f"{row.name} is also the name of pid {pids}"
            yield warn(text, hand="give that session another name (/rename), or end it")


def _domains(facts: Facts) -> Iterator[Verdict]:
    """The records are of this machine's processes, or of names of ours."""
    own = _own_domain(facts.root)
    for folder in facts.config.registry_folders():
        lost = _lost(f"{folder}/sessions")
        if ours := lost.pop(own, []):
            text = f"{len(ours)} records of names here, whose sockets are gone"
            fix = "homi restart" if facts.daemon else "homi start"
            yield warn(f"{text}, the first is {ours[0]}", fix)
        if strange := [path for paths in lost.values() for path in paths]:
            others = all(domain.startswith(OURS) for domain in lost)
            whose = "homi that is not this one" if others else "machine or container"
            text = f"{len(strange)} records of another {whose}"
            # A container may share the folder, and its sessions live.
            hand = f"if nothing runs there: rm {' '.join(map(quoted, strange))}"
            yield warn(f"{text}, the first is {strange[0]}", hand=hand)
        elif not ours and os.path.isdir(f"{folder}/sessions"):
            yield well(f"{folder}/sessions is of this machine")
        elif not ours:
            yield well(f"{folder}/sessions is not there yet: no client has run here")


def _lost(folder: str) -> dict[str, list[str]]:
    """The records there that name a socket which is gone and are of no process here,
    by their domain."""
    found: dict[str, list[str]] = {}
    for pid, record in registry.read_records(folder).items():
        if not isinstance(record, registry.Record) or os.path.exists(record.socket):
            continue
        if record.pid_domain not in (None, process.pid_domain()):
            found.setdefault(record.pid_domain, []).append(f"{folder}/{pid}.json")
    return found


def _own_domain(root: Path) -> str:
    """That of this root's names; empty where none can be read: state tells of it."""
    try:
        raw = msgspec.json.decode(read_plain(root / "names.json"), type=dict)
    except (OSError, ValueError):
        return ""
    return f"{OURS}{raw.get('instance')}"


CHECKS = (
    Check(
        "answers",
        "every session can be written to",
        _reached,
        "all answer",
        daemon=True,
    ),
    Check(
        "clients",
        "homi knows the clients that run",
        _clients,
        "none is of another version",
        daemon=True,
    ),
    Check("inbound", "no setting holds letters back", _inbound, daemon=True),
    Check("names", "each name is of one session", _registry, daemon=True),
    Check("domains", "the listed sessions are of this machine", _domains),
)
