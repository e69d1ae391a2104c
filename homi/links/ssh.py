"""Dialling another device by SSH; the home of asyncssh.

Owns what of the user's ssh config counts, that no prompt and no other key than the
device's is ever used, and what each of ssh's refusals means.  homi-link(1).
"""

import asyncio
import logging
import os
import shlex
import socket
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import asyncssh

from homi.links.host import parts, typed
from homi.links.pipe import PLAIN, Maker, Pipe
from homi.links.state import LinkState, Refusal, Verdict

CONNECT = 10.0  # s for the connection, and once more to be let in
JUMPS_MAX = 8
BANNER_MAX = 2_000  # characters
PORT = 22
EXCHANGE = "exchange"  # what the far sshd is told: homi link serve reads it
# AES-GCM first: half the cost of ChaCha20 on every processor with AES of its own.
CIPHERS = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"


class Hosts:
    """The host keys that a person accepted, out of known_hosts files."""

    def __init__(self, files: Sequence[str]) -> None:
        """Read files; one that is absent or unreadable holds nothing."""
        self.known = asyncssh.SSHKnownHosts()
        for file in files:
            try:
                with open(file, encoding="utf-8", errors="replace") as lines:
                    for line in lines:
                        self._add(line)
            except OSError:
                continue

    def knows(self, host: str, addr: str, port: int) -> bool:
        """Whether any key is known of that host: then another one is a change."""
        found = self.known.match(host, addr, None if port == PORT else port)
        return any(found[:2])

    def _add(self, line: str) -> None:
        """One line; a bad one costs only itself, as ssh has it."""
        try:
            self.known.load(line)
        except ValueError:
            return


class Dialler:
    """Opens pipes to hosts as the user's ssh would, with the device's key alone."""

    def __init__(self, key: str, keepalive: float, home: Path | None = None) -> None:
        """key: path of the private key.  home: where .ssh is; the user's if None."""
        self._key = key
        self._keepalive = keepalive
        self._home = home or Path.home()
        # One line a try at INFO, of a library whose words nobody here knows.
        logging.getLogger("asyncssh").setLevel(logging.ERROR)

    async def dial(self, host: str, make: Maker) -> Pipe:
        """An open pipe to the exchange at host; Refusal says why there is none."""
        loop = asyncio.get_running_loop()
        client = _Client()
        chain: list[asyncssh.SSHClientConnection] = []
        opened = False
        try:
            async with asyncio.timeout(3 * CONNECT):
                await self._reach(host, client, chain, 0)
                session: Any = partial(Pipe, make, loop)  # what the library calls of it
                _, pipe = await chain[-1].create_session(session, EXCHANGE, **PLAIN)
            opened = True
        except asyncssh.Error as error:
            raise Refusal(_of_ssh(error, client, host)) from error
        except (OSError, ValueError) as error:
            raise Refusal(_of_system(error, host)) from error
        finally:
            if not opened:
                for connection in reversed(chain):
                    connection.abort()
        made = cast(Pipe, pipe)
        made.connection = chain[-1]
        made.banner = client.banner
        return made

    async def _reach(
        self,
        given: str,
        client: "_Client",
        chain: list[asyncssh.SSHClientConnection],
        depth: int,
    ) -> None:
        """Append a connection to that host, behind those its config wants first.

        asyncssh would open these by itself, with whatever keys the user has.
        """
        if depth > JUMPS_MAX:
            raise ValueError(f"over {JUMPS_MAX} jump hosts, one behind another")
        options = self._options(client, given)
        found = await asyncssh.SSHClientConnectionOptions.construct(**options)
        if not chain:
            for jump in _jumps(found.tunnel):
                await self._reach(jump, client, chain, depth + 1)
        hosts = await asyncio.get_running_loop().run_in_executor(
            None, Hosts, _files(found.known_hosts, self._home)
        )
        client.meet(hosts, given, found.host_key_alias)
        tunnel = chain[-1] if chain else None
        made = await asyncssh.connect(
            **options | {"known_hosts": hosts.known, "tunnel": tunnel}
        )
        if tunnel is not None:
            made.set_tunnel(tunnel)
        chain.append(made)

    def _options(self, client: "_Client", given: str) -> dict[str, Any]:
        """What is fixed for every connection; the config gives the rest."""
        user, host, port = parts(given)
        config = [self._home / ".ssh" / "config", Path("/etc/ssh/ssh_config")]
        options: dict[str, Any] = {
            "host": host,
            "config": [file for file in config if os.access(file, os.R_OK)],
            "client_factory": lambda: client,
            "client_keys": [self._key],
            "client_certs": [],
            "agent_path": None,
            "agent_identities": None,
            "agent_forwarding": False,
            "pkcs11_provider": None,
            "preferred_auth": ["publickey"],
            "password_auth": False,
            "kbdint_auth": False,
            "host_based_auth": False,
            "gss_kex": False,
            "gss_auth": False,
            "client_host_keysign": False,
            "ignore_encrypted": False,
            "x509_trusted_certs": None,
            "encryption_algs": CIPHERS,
            "compression_algs": None,
            "connect_timeout": CONNECT,
            "login_timeout": CONNECT,
            "keepalive_interval": self._keepalive,
            "keepalive_count_max": 3,
        }
        if user:
            options["username"] = user
        if port:
            options["port"] = port
        return options


class _Client(asyncssh.SSHClient):
    """What the connections of one dial heard: a banner, a host key not trusted."""

    def __init__(self) -> None:
        self.banner = ""
        self.changed = False
        self.offered = ""
        self.line = ""
        self.host = ""
        self._hosts: Hosts | None = None
        self._alias: str | None = None

    def meet(self, hosts: Hosts, host: str, alias: str | None) -> None:
        """From now on it is that host; alias: what files of known hosts call it."""
        self._hosts, self.host, self._alias = hosts, host, alias

    def auth_banner_received(self, msg: str, lang: str) -> None:
        """Kept as words: it says nothing of why a dial fails."""
        self.banner = msg[:BANNER_MAX]

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        """Never trusted here; whether the host is known otherwise is remembered."""
        self.offered = key.get_fingerprint()
        # OpenSSH looks an alias up as it stands, whatever the port is.
        bare = port == PORT or self._alias is not None
        self.line = host if bare else f"[{host}]:{port}"
        self.changed = self._hosts is not None and self._hosts.knows(host, addr, port)
        return False


def _jumps(tunnel: object) -> list[str]:
    """The hosts of ProxyJump, the nearest first."""
    return (
        [jump for jump in tunnel.split(",") if jump] if isinstance(tunnel, str) else []
    )


def _files(found: object, home: Path) -> list[str]:
    """The known_hosts files that count: those of the config, else ssh's own."""
    listed = found if isinstance(found, list | tuple) else []
    named = [os.path.expanduser(str(file)) for file in listed]
    own = [str(home / ".ssh" / name) for name in ("known_hosts", "known_hosts2")]
    return named or [*own, "/etc/ssh/ssh_known_hosts"]


def _of_ssh(error: asyncssh.Error, client: _Client, host: str) -> Verdict:
    """What ssh's refusal means."""
    text = getattr(error, "reason", "") or str(error) or type(error).__name__
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return _of_host_key(text, client)
    if isinstance(error, asyncssh.KeyExchangeFailed) and "host key" in text.lower():
        return _of_host_key(text, client)
    if isinstance(error, asyncssh.PermissionDenied):
        return Verdict(LinkState.AUTH, text, f"homi pair {host}")
    return Verdict(LinkState.UNREACHABLE, text, f"ssh {typed(host)} true shows more")


def _of_host_key(text: str, client: _Client) -> Verdict:
    """A host that is not the one ssh knows, or that it never met."""
    shown = f" (it shows {client.offered})" if client.offered else ""
    line = shlex.quote(client.line or client.host)
    meet = f"ssh {typed(client.host)} true"
    if client.changed:
        fix = f"ssh-keygen -R {line}, then {meet} to meet it anew"
        text = f"{text}: another key is in known_hosts{shown}"
    elif "revoked" in text:
        fix = "its line @revoked in known_hosts says so: give the host another key"
    else:
        fix = f"{meet}, and compare the fingerprint"
        text = f"{text}{shown}"
    return Verdict(LinkState.HOST_KEY, text, fix)


def _of_system(error: OSError | ValueError, host: str) -> Verdict:
    """What the network, or a file of ssh's, said."""
    fix = f"ssh {typed(host)} true shows more"
    if isinstance(error, asyncssh.KeyImportError):
        return Verdict(
            LinkState.AUTH, f"the device's key: {error}", f"homi pair {host}"
        )
    if isinstance(error, TimeoutError):
        text = f"no answer from {host} in {CONNECT:.0f} s"
    elif isinstance(error, socket.gaierror):
        text = f"{host}: {error.strerror}"
    elif isinstance(error, OSError):
        # The loop's own words for a refused connection are those of its call.
        text = os.strerror(error.errno) if error.errno else str(error)
    else:
        text = f"ssh config: {error}"
    return Verdict(LinkState.UNREACHABLE, text, fix)
