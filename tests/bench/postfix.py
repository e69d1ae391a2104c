"""A Postfix of its own: its configuration, its start and its end.

Needs root, since its master changes to other users.
"""

import contextlib
import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path

MAIN = """\
compatibility_level = 3.6
queue_directory = {place}/spool
data_directory = {place}/data
daemon_directory = {daemons}
mail_owner = postfix
setgid_group = postdrop
myhostname = bench.invalid
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
local_recipient_maps =
alias_maps =
relay_domains = bench.invalid
smtpd_peername_lookup = no
smtpd_client_connection_rate_limit = 0
smtpd_client_connection_count_limit = 0
default_process_limit = 200
smtp_dns_support_level = disabled
default_transport = error
maillog_file = /dev/stdout
maillog_file_prefixes = /dev
"""
MASTER = """\
127.0.0.1:{port} inet n - n - 200 smtpd -o smtpd_client_restrictions=static:hold
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
error unix - - n - - error
anvil unix - - n - 1 anvil
proxymap unix - - n - - proxymap
postlog unix-dgram n - n - 1 postlogd
"""
DAEMONS = ("/usr/lib/postfix/sbin", "/usr/libexec/postfix")


def unable() -> str:
    """Why it cannot run here; empty when it can."""
    if os.geteuid():
        return "Postfix needs root"
    try:
        pwd.getpwnam("postfix")
    except KeyError:
        return "there is no user postfix"
    return "" if _daemons() else "Postfix's own programs are not found"


def _daemons() -> str:
    return next((folder for folder in DAEMONS if os.path.isdir(folder)), "")


@contextlib.contextmanager
def running(program: str, place: Path, port: int) -> Iterator[None]:
    """Everything of it in place, listening at port; all of it ended afterwards."""
    etc = place / "etc"
    for folder in (etc, place / "spool", place / "data"):
        folder.mkdir(mode=0o755)
    os.chown(place / "data", pwd.getpwnam("postfix").pw_uid, -1)
    (etc / "main.cf").write_text(MAIN.format(place=place, daemons=_daemons()))
    (etc / "master.cf").write_text(MASTER.format(port=port))
    _run(program, etc, "start")
    try:
        yield
    finally:
        _run(program, etc, "stop")
        _run(program, etc, "abort")


def _run(program: str, etc: Path, verb: str) -> None:
    """One verb of the postfix command; what it says is no result."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [program, "-c", str(etc), verb],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
