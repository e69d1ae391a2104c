"""Two machines on one wire: network namespaces joined by a veth, a device in each.

Needs root.  Unix sockets cross namespaces, so that the test talks to both daemons from
outside.  What is made is removed by close(), which proves it.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.integration.linked import SETTINGS, Pair
from tests.standin.driver import ROOT
from tests.standin.place import PATIENCE, Place, until
from tests.standin.sshd import SBIN, need

PATH = f"{os.environ.get('PATH', os.defpath)}{SBIN}"
LAPTOP, MINI = "10.77.0.1", "10.77.0.2"
SSH, SLOW = 22, 2222  # ports of namespaces where nothing else listens


def missing() -> str:
    """Why there can be no namespaces here; empty where there can."""
    if not sys.platform.startswith("linux"):
        return "network namespaces are Linux"
    if os.geteuid() != 0:
        return "network namespaces need root"
    for tool in ("ip", "nsenter"):
        if shutil.which(tool, path=PATH) is None:
            return f"no {tool} (sh tests/setup.sh tools {tool})"
    probe = subprocess.run(
        [_tool("nsenter"), "--net=/proc/self/ns/net", "true"],
        capture_output=True,
        check=False,
    )
    name = f"hm-{secrets.token_hex(3)}"
    made = _ip("netns", "add", name, check=False)
    _ip("netns", "del", name, check=False)
    return "" if made and probe.returncode == 0 else "no namespace can be made here"


class Wire:
    """The namespaces and what joins them."""

    def __init__(self) -> None:
        """Both ends are up."""
        mark = secrets.token_hex(3)
        self.laptop, self.mini = f"hml-{mark}", f"hmm-{mark}"
        for name in (self.laptop, self.mini):
            _ip("netns", "add", name)
        _ip(
            *f"link add eth netns {self.laptop} type veth".split(),
            *f"peer name eth netns {self.mini}".split(),
        )
        for name, address in ((self.laptop, LAPTOP), (self.mini, MINI)):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth")
            for device in ("lo", "eth"):
                _ip("-n", name, "link", "set", device, "up")

    def set(self, name: str, state: str) -> None:
        """Let that end be up, or down: then what is sent is dropped."""
        _ip("-n", name, "link", "set", "eth", state)

    def close(self) -> None:
        """Remove them."""
        for name in (self.laptop, self.mini):
            _ip("netns", "del", name)
        left = subprocess.run(
            [_tool("ip"), "netns"], capture_output=True, text=True, check=True
        ).stdout
        assert self.laptop not in left
        assert self.mini not in left


class Inside(Place):
    """A place whose daemon runs in a namespace."""

    namespace = ""

    def program(self) -> list[str]:
        """What runs the daemon in the foreground."""
        return [*inside(self.namespace), *super().program()]


class Apart(Pair):
    """laptop and mini as of linked.Pair, each in a namespace of its own; mini's ssh
    server listens in its namespace, behind a slow line at another port, too."""

    def __init__(self, keepalive: float, delay: float = 0.0) -> None:
        """Both daemons run, linked and up.  delay: s that the line takes, each way."""
        need()
        if why := missing():
            pytest.skip(why)
        self.wire = Wire()
        with contextlib.ExitStack() as ends:
            ends.callback(self.wire.close)
            self.started: list[subprocess.Popen[bytes]] = []
            super().__init__(keepalive)
            ends.callback(self._ends.close)
            ends.callback(self._end)
            self._serve(delay)
            self._ends = ends.pop_all()

    def place(self, device: str, keepalive: float) -> Place:
        """In the namespace of its name."""
        made = Inside(SETTINGS.format(device=device, keepalive=keepalive))
        made.device = device
        made.namespace = getattr(self.wire, device)
        return made

    def _serve(self, delay: float) -> None:
        """mini's ssh server, and the line to it."""
        sshd = shutil.which("sshd", path=PATH)
        assert sshd is not None
        log = self.sshd.folder / "listening"
        config = ["-f", str(self.sshd.config), "-E", str(log)]
        self._start(sshd, "-D", *config, "-o", f"ListenAddress {MINI}:{SSH}")
        until(lambda: _says(log, "Server listening"), "sshd listens")
        port = SSH
        if delay:
            port = SLOW
            slow = str(ROOT / "tests" / "standin" / "slow.py")
            where = [f"{MINI}:{SLOW}", f"{MINI}:{SSH}", str(delay)]
            started = self._start(sys.executable, slow, *where)
            assert started.stdout is not None
            assert started.stdout.readline() == b"listening\n"
        folder = self.laptop.home / ".ssh"
        config_file = folder / "config"
        host = f"Host mini\n    HostName {MINI}\n    Port {port}\n"
        config_file.write_text(host + config_file.read_text())
        kind, key = self.sshd.host_key.with_suffix(".pub").read_text().split()[:2]
        shown = MINI if port == SSH else f"[{MINI}]:{port}"
        (folder / "known_hosts").write_text(f"{shown} {kind} {key}\n")
        self.link()
        self.both_up()

    def _start(self, *command: str) -> "subprocess.Popen[bytes]":
        """A program of mini's namespace."""
        made = subprocess.Popen(
            [*inside(self.wire.mini), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.started.append(made)
        return made

    def _end(self) -> None:
        """End what was started, and the sessions of it."""
        for one in self.started:
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(one.pid)
                process.suspend()  # or it could start another session meanwhile
                for each in (*process.children(recursive=True), process):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        each.kill()
            one.wait(PATIENCE)
            if one.stdout is not None:
                one.stdout.close()


def inside(namespace: str) -> list[str]:
    """What runs a command in a namespace."""
    return [_tool("nsenter"), f"--net=/run/netns/{namespace}"]


def _says(log: Path, words: str) -> bool:
    """Whether a log has these words."""
    return log.exists() and words in log.read_text(errors="replace")


def _ip(*words: str, check: bool = True) -> bool:
    """ip(8); whether it did."""
    done = subprocess.run([_tool("ip"), *words], capture_output=True, check=False)
    assert not check or done.returncode == 0, (words, done.stderr)
    return done.returncode == 0


def _tool(name: str) -> str:
    """The program of that name."""
    found = shutil.which(name, path=PATH)
    assert found is not None, name
    return found
