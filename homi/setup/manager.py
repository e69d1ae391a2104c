"""The service manager of this user: systemd or launchd, and what it is told.

Owns the commands that are run for that.  homi-setup(1).
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from homi import child
from homi.child import Said
from homi.errors import Unavailable
from homi.setup import unit

PATIENCE = 60  # s: a daemon that starts may have a full ring to read
BY_HAND = "homi start starts the daemon; @reboot homi start in crontab(5), at each boot"


class Manager(Protocol):
    """What a service manager has a file for."""

    path: Path

    def text(self, command: Sequence[str], log: Path) -> str:
        """What the file says."""
        ...

    def need(self) -> None:
        """Unavailable (69) where it cannot be told anything."""
        ...

    def begin(self, *, now: bool) -> None:
        """The file is there: start the daemon by it, at each login and, with now, at
        once."""
        ...

    def active(self) -> bool:
        """Whether it runs the daemon."""
        ...

    def end(self) -> None:
        """The file is about to go: stop what it started."""
        ...

    def ended(self) -> None:
        """The file is gone."""
        ...

    def notes(self) -> list[str]:
        """What a person should know."""
        ...


class Systemd:
    """The systemd of the user."""

    def __init__(self) -> None:
        """Nothing is run yet."""
        base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        self.path = Path(base) / "systemd" / "user" / unit.NAME

    def text(self, command: Sequence[str], log: Path) -> str:
        """The unit; its log goes to journald."""
        path = os.environ.get("PATH", os.defpath)
        unit.check([*command, path], command[0])
        return unit.unit(command, path)

    def need(self) -> None:
        """Unavailable (69) without systemd, or where it does not answer this user."""
        if shutil.which("systemctl") is None:
            raise Unavailable("there is no systemd here (no systemctl)", hint=BY_HAND)
        done = _run(["systemctl", "--user", "show-environment"])
        if done.status:
            raise Unavailable(
                f"systemd does not answer this user: {_said(done)}", hint=BY_HAND
            )

    def begin(self, *, now: bool) -> None:
        """Enable it; now: start it too."""
        _do(["systemctl", "--user", "daemon-reload"])
        _do(["systemctl", "--user", "enable", *["--now"] * now, unit.NAME])

    def active(self) -> bool:
        """Whether it runs the daemon."""
        done = _run(["systemctl", "--user", "is-active", unit.NAME])
        return done.status == 0

    def end(self) -> None:
        """Stop and disable it, as far as it is known."""
        _run(["systemctl", "--user", "disable", "--now", unit.NAME])

    def ended(self) -> None:
        """Let it be forgotten."""
        _run(["systemctl", "--user", "daemon-reload"])

    def notes(self) -> list[str]:
        """Whether the daemon lives on when its user logs out."""
        if shutil.which("loginctl") is None:
            return []
        who = ["show-user", str(os.getuid()), "--property=Linger", "--value"]
        done = _run(["loginctl", *who])
        if done.out.strip() == "yes":
            return []
        return ["it ends when you log out; loginctl enable-linger lets it go on"]


class Launchd:
    """The launchd of a user who is logged in.  Nobody has tried it on a Mac yet."""

    def __init__(self) -> None:
        """Nothing is run yet."""
        self.path = Path.home() / "Library" / "LaunchAgents" / f"{unit.LABEL}.plist"
        self._domain = f"gui/{os.getuid()}"

    def text(self, command: Sequence[str], log: Path) -> str:
        """The property list."""
        path = os.environ.get("PATH", os.defpath)
        unit.check([*command, path, os.fspath(log)])
        return unit.agent(command, path, os.fspath(log))

    def need(self) -> None:
        """Unavailable (69) without launchctl."""
        if shutil.which("launchctl") is None:
            raise Unavailable("there is no launchd here (no launchctl)", hint=BY_HAND)

    def begin(self, *, now: bool) -> None:
        """Load it, which starts it: launchd knows no other way."""
        if now:
            _do(["launchctl", "bootstrap", self._domain, os.fspath(self.path)])

    def active(self) -> bool:
        """Whether it has loaded it."""
        done = _run(["launchctl", "print", f"{self._domain}/{unit.LABEL}"])
        return done.status == 0

    def end(self) -> None:
        """Unload it, as far as it is loaded."""
        _run(["launchctl", "bootout", f"{self._domain}/{unit.LABEL}"])

    def ended(self) -> None:
        """Nothing more is to do."""

    def notes(self) -> list[str]:
        """That nobody has tried it."""
        return ["the agent of launchd was never tried on a Mac: tell how it went"]


def manager() -> Manager:
    """That of this system."""
    return Launchd() if sys.platform == "darwin" else Systemd()


def _do(argv: Sequence[str]) -> None:
    """Run it; Unavailable (69) with its own words where it fails."""
    done = _run(argv)
    if done.status:
        raise Unavailable(f"{' '.join(argv)}: {_said(done)}", hint="homi log -n 20")


def _run(argv: Sequence[str]) -> Said:
    """What it says, or why it says nothing."""
    try:
        return child.run(argv, patience=PATIENCE)
    except Unavailable as error:
        return Said(1, "", error.text)


def _said(done: Said) -> str:
    """The first line of what it complained of, else its status."""
    said = (done.err + done.out).strip().splitlines()
    found = [line for line in said if not line.startswith("Created symlink ")]
    return found[0] if found else f"status {done.status}"
