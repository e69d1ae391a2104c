"""The file by which a service manager starts the daemon: a unit, or a property list.

Owns the text of both, and the mark by which homi knows its own file from one that a
person changed.  homi-setup(1) says what each line is for.
"""

import hashlib
import plistlib
import re
from collections.abc import Sequence
from xml.parsers.expat import ExpatError

from homi.errors import CannotCreate
from homi.visible import visible

NAME = "homi.service"
LABEL = "homi.daemon"
WATCHDOG = 60  # s without a turn of the loop until systemd starts it anew
OTHERWISE = "name another: --homi PATH, --home DIR, or PATH=... in front"
MARK = "HomiDigest"  # the key of the property list that launchd passes over

_MARK = re.compile(r"# homi setup service wrote this file: ([0-9a-f]{16})\n")
# Statuses that another start does not mend: the root, the version or a setting.
HOPELESS = "73 76 77 78"

_UNIT = """\
[Unit]
Description=homi, durable mail for coding agents
Documentation=man:homid(8) man:homi(1)
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=notify
NotifyAccess=main
ExecStart={run}
ExecReload={restart}
Environment={path}
Restart=on-failure
RestartSec=2
RestartPreventExitStatus={hopeless}
WatchdogSec={watchdog}
TimeoutStartSec=180
TimeoutStopSec=30
# Agents in seats are children of the daemon: they outlive it, and one that runs out
# of memory does not end it.
KillMode=process
OOMPolicy=continue
# Letters stand in its memory.
LimitCORE=0
UMask=0077

[Install]
WantedBy=default.target
"""


def check(words: Sequence[str], program: str = "") -> None:
    """CannotCreate (73) for words that such a file cannot hold.  program: that systemd
    is to start, of whose name it wants more."""
    for word in words:
        if any(0xD800 <= ord(char) < 0xE000 for char in word):
            raise CannotCreate(
                f"{visible(word)} is not UTF-8, as a service manager wants it",
                hint=OTHERWISE,
            )
        if re.search(r"[\x00-\x1f\x7f]", word):
            raise CannotCreate(
                f"{visible(word)} has a control character, which no service"
                " manager takes",
                hint=OTHERWISE,
            )
    if re.search(r"[\"'\\]", program):
        raise CannotCreate(
            f"{visible(program)} has a quote or a backslash, and systemd starts no"
            " such program",
            hint=OTHERWISE,
        )


def unit(command: Sequence[str], path: str) -> str:
    """The unit of systemd: command is homi with its options, path its PATH."""
    text = _UNIT.format(
        run=_line([*command, "run"]),
        restart=_line([*command, "restart"]),
        path=_word(f"PATH={path}"),
        hopeless=HOPELESS,
        watchdog=WATCHDOG,
    )
    return f"# homi setup service wrote this file: {_digest(text.encode())}\n{text}"


def agent(command: Sequence[str], path: str, log: str) -> str:
    """The property list of launchd, with what is printed going to log."""
    wanted = {
        "Label": LABEL,
        "ProgramArguments": [*command, "run"],
        "EnvironmentVariables": {"PATH": path},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ProcessType": "Background",
        "AbandonProcessGroup": True,  # seats outlive it
        "Umask": 0o077,
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    mark = _digest(plistlib.dumps(wanted))
    return plistlib.dumps({**wanted, MARK: mark}).decode()


def ours(data: bytes) -> bool | None:
    """Whether homi wrote the file as it is; None: it did, and a person changed it."""
    text = data.decode("utf-8", "replace")
    if (found := _MARK.match(text)) is not None:
        rest = text[found.end() :].encode()
        return True if _digest(rest) == found[1] else None
    try:
        there = plistlib.loads(data)
    except (plistlib.InvalidFileException, ExpatError, ValueError):
        return False
    if not isinstance(there, dict) or MARK not in there:
        return False
    mark = there.pop(MARK)
    return True if _digest(plistlib.dumps(there)) == mark else None


def _line(command: Sequence[str]) -> str:
    """A command, in which no word is a variable."""
    program, *words = command
    # The first word is taken as it is; of the others each $ would begin a variable.
    return " ".join([_word(program), *(_word(w).replace("$", "$$") for w in words)])


def _word(text: str) -> str:
    """A word of a command or an assignment, as systemd reads it."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    text = text.replace("%", "%%")
    # A line feed would begin a line of its own.
    text = re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", text)
    return text if re.fullmatch(r"[\w@%+=:,./-]+", text) else f'"{text}"'


def _digest(data: bytes) -> str:
    """What tells whether a file is as it was written."""
    return hashlib.sha256(data).hexdigest()[:16]
