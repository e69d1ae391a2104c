"""A real OpenSSH server of a test: `sshd -i` for each connection to a socket it bound.

Makes a Place a device that others reach by ssh.  Everything it needs is in the place:
host key, sshd_config, authorized_keys; what a client needs is written into the
client's own place by reach().  No port is fixed, no file of the machine is used.
"""

import contextlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest

from tests.standin.closing import Closing
from tests.standin.place import PATIENCE, Place, homi_command, until

SBIN = ":/usr/sbin:/sbin:/usr/local/sbin"
PRIVSEP = Path("/run/sshd")  # where sshd, as root, locks itself in
SETTINGS = """\
HostKey {key}
AuthorizedKeysFile {authorized}
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
PrintMotd no
PrintLastLog no
PermitUserRC no
MaxStartups 100
MaxSessions 100
PidFile none
LogLevel VERBOSE
SetEnv {environment}
"""
HOST = """\
Host {alias}
    HostName 127.0.0.1
    Port {port}
    User {user}
    IdentityFile {identity}
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile {known}
    GlobalKnownHostsFile /dev/null
    CheckHostIP no
    UpdateHostKeys no
    ControlPath none
"""


def missing() -> str:
    """Why there can be no sshd here; empty where there can."""
    for name in ("sshd", "ssh", "ssh-keygen"):
        if _which(name) is None:
            return f"no {name} (sh tests/setup.sh tools sshd ssh)"
    if os.getuid() == 0:
        with contextlib.suppress(OSError):
            PRIVSEP.mkdir(mode=0o755, exist_ok=True)
        if not PRIVSEP.is_dir():
            return f"no {PRIVSEP}, which sshd wants"
    return ""


def need() -> None:
    """Skip the test, by name, where there can be no sshd."""
    if why := missing():
        pytest.skip(why)


class Sshd(Closing):
    """The ssh server of one place."""

    def __init__(self, place: Place, alias: str = "", *, homi: bool = True) -> None:
        """It listens.  alias: what clients call the host; the device's name if empty.
        homi: whether ~/.local/bin/homi is there."""
        self.place = place
        self.alias = alias or place.device
        self.folder = place.root / "sshd"
        self.folder.mkdir(mode=0o700)
        self.log = self.folder / "log"
        self.config = self.folder / "sshd_config"
        self.host_key = self.folder / "host_key"
        self.dot_ssh = place.home / ".ssh"
        self.dot_ssh.mkdir(mode=0o700, exist_ok=True)
        self.authorized = self.dot_ssh / "authorized_keys"
        keygen(self.host_key)
        self.configure()
        if homi:
            self.install_homi()
        # Bound and never listening: the port stays ours while the server is down.
        self._hold = _bound(0)
        self.port = int(self._hold.getsockname()[1])
        self._running: list[subprocess.Popen[bytes]] = []
        self._guard = threading.Lock()
        self._clients: list[Place] = []
        self.up()

    # ---- the far side's state ----

    def configure(self, *more: str, **env: str) -> None:
        """sshd_config anew, with further lines and variables for every session;
        the next connection reads it."""
        shown = self.place.env(**{"PATH": "/usr/local/bin:/usr/bin:/bin"} | env)
        kept = {
            key: value
            for key, value in shown.items()
            if key in env
            or key in ("HOME", "PATH", "PYTHONPATH", "CLAUDE_CONFIG_DIR")
            or key.startswith(("XDG_", "HOMI_"))
        }
        text = SETTINGS.format(
            key=self.host_key,
            authorized=self.authorized,
            environment=" ".join(f'"{key}={value}"' for key, value in kept.items()),
        )
        self.config.write_text("".join(f"{line}\n" for line in more) + text)

    def banner(self, text: str) -> None:
        """Say text before anybody is let in."""
        said = self.folder / "banner"
        said.write_text(text)
        self.configure(f"Banner {said}")

    def noisy(self, text: str) -> None:
        """Let the login shell print text at its start (bash reads this file)."""
        (self.place.home / ".bashrc").write_text(f"printf '%s' {shlex.quote(text)}\n")

    def install_homi(self) -> Path:
        """The command of this tree, where a user's own programs are."""
        command = self.place.home / ".local" / "bin" / "homi"
        command.parent.mkdir(parents=True, exist_ok=True)
        command.write_text(f'#!/bin/sh\nexec {shlex.join(homi_command())} "$@"\n')
        command.chmod(0o755)
        return command

    def change_host_key(self) -> None:
        """Another host key, as after a reinstall."""
        for file in (self.host_key, self.host_key.with_suffix(".pub")):
            file.unlink()
        keygen(self.host_key)

    def effective(self, user: str) -> dict[str, str]:
        """The settings for user as sshd itself understands its config."""
        sshd = _which("sshd")
        assert sshd is not None
        done = subprocess.run(
            [sshd, "-T", "-f", self.config, "-C", f"user={user},host=x,addr=192.0.2.1"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        pairs = (line.partition(" ") for line in done.stdout.splitlines())
        return {key: value for key, _, value in pairs}

    # ---- the client's side ----

    def reach(self, client: Place, *, trust: bool = True, passphrase: str = "") -> str:
        """Let the person at client log in here; the alias to say.

        trust: the host is in known_hosts; else ssh has to ask.
        """
        folder = client.home / ".ssh"
        folder.mkdir(mode=0o700, exist_ok=True)
        identity = folder / f"id_{self.alias}"
        if not identity.exists():
            keygen(identity, passphrase)
        self.authorize(identity.with_suffix(".pub").read_text())
        with (folder / "config").open("a") as file:
            file.write(
                HOST.format(
                    alias=self.alias,
                    port=self.port,
                    user=psutil.Process().username(),
                    identity=identity,
                    known=folder / "known_hosts",
                )
            )
        if trust:
            self.trust(client)
        # OpenSSH finds its folder by the password file, not by $HOME.
        for name in ("ssh", "scp", "sftp"):
            if real := _which(name):
                _script(client.bin / name, [real, "-F", str(folder / "config")])
        self._clients.append(client)
        return self.alias

    def authorize(self, line: str) -> None:
        """One more line of authorized_keys."""
        with self.authorized.open("a") as file:
            file.write(line)
        self.authorized.chmod(0o600)

    def trust(self, client: Place) -> None:
        """Let the client's known_hosts hold the host key as it is now."""
        known = client.home / ".ssh" / "known_hosts"
        host = f"[127.0.0.1]:{self.port}"
        old = known.read_text().splitlines() if known.exists() else []
        kept = [line for line in old if not line.startswith(f"{host} ")]
        kind, key = self.host_key.with_suffix(".pub").read_text().split()[:2]
        known.write_text("\n".join([*kept, f"{host} {kind} {key}"]) + "\n")

    # ---- trouble ----

    def pids(self) -> list[int]:
        """Every live process of the sessions, sshd itself first."""
        return [process.pid for process in self._tree()]

    def cut(self) -> int:
        """Kill every session as a lost connection does; how many there were."""
        with self._guard:
            ended = [one for one in self._running if one.poll() is None]
        self.stall()  # or one could start another while it is ended
        _signal(self._tree(), signal.SIGKILL)
        for one in ended:
            one.wait(PATIENCE)
        return len(ended)

    def stall(self) -> None:
        """Stop every session where it is; the connections stay open."""

        def stopped() -> bool:
            tree = self._tree()
            _signal(tree, signal.SIGSTOP)
            return all(_stopped(process) for process in tree)

        until(stopped, "every session is stopped")

    def resume(self) -> None:
        """Let stalled sessions go on."""
        _signal(self._tree(), signal.SIGCONT)

    def down(self) -> None:
        """Refuse new connections; the port stays ours."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)  # wakes who accepts
        self._accepting.join(PATIENCE)
        self._sock.close()

    def up(self) -> None:
        """Take connections again, each by an sshd of its own."""
        self._sock = _bound(self.port)
        self._sock.listen()
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    # ---- the life of it ----

    def close(self) -> None:
        """End every session and listen no more."""
        self.down()
        self.cut()
        self._hold.close()
        # A command whose sshd went before it sees its input end, soon.
        until(lambda: not self._orphans(), "the commands of ended sessions end")
        if self.log.exists():
            sys.stderr.write(self.log.read_text(errors="replace")[-4000:])

    def _accept(self) -> None:
        """Until the socket is shut down or closed."""
        while True:
            try:
                conn, _ = self._sock.accept()
            except OSError:
                return
            with conn, self._guard:
                self._running = [one for one in self._running if one.poll() is None]
                self._running.append(self._serve(conn))

    def _serve(self, conn: socket.socket) -> "subprocess.Popen[bytes]":
        """One sshd that talks over conn."""
        sshd = _which("sshd")
        assert sshd is not None
        return subprocess.Popen(
            [sshd, "-i", "-f", str(self.config), "-E", str(self.log)],
            stdin=conn,
            stdout=conn,
            stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin"},
            cwd="/",
            start_new_session=True,
        )

    def _orphans(self) -> list[int]:
        """Commands of links that outlive their session."""
        found = []
        for pid in self.place.left():
            with contextlib.suppress(psutil.Error):
                if "serve" in psutil.Process(pid).cmdline():
                    found.append(pid)
        return found

    def _tree(self) -> list[psutil.Process]:
        """The processes of every session: parents before children."""
        with self._guard:
            pids = [one.pid for one in self._running if one.poll() is None]
        found: list[psutil.Process] = []
        for pid in pids:
            with contextlib.suppress(psutil.NoSuchProcess):
                parent = psutil.Process(pid)
                found += [parent, *parent.children(recursive=True)]
        return found


def keygen(path: Path, passphrase: str = "") -> None:
    """A new ed25519 key pair at path."""
    tool = _which("ssh-keygen")
    assert tool is not None
    subprocess.run(
        [tool, "-q", "-t", "ed25519", "-N", passphrase, "-C", path.name, "-f", path],
        check=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
    )


def _bound(port: int) -> socket.socket:
    """A socket at that port of the loopback; 0: at a free one."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    return sock


def _which(name: str) -> str | None:
    """The program of that name; sshd is not on everybody's PATH."""
    return shutil.which(name, path=os.environ.get("PATH", os.defpath) + SBIN)


def _script(path: Path, command: list[str]) -> None:
    """A program that runs command with whatever is added."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)


def _signal(processes: Iterable[psutil.Process], number: int) -> None:
    """Send a signal to each that is still there."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _stopped(process: psutil.Process) -> bool:
    """Whether it runs no more."""
    try:
        return process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
