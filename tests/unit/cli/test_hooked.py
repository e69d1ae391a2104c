"""How long a hook waits for a daemon that does not answer."""

import os
import signal
import socket
import subprocess
import sys
import tempfile

import pytest

from tests.standin.driver import ROOT

GIVEN = b'{"session_id":"s"}'
# Its timer never goes off here: the test sends what it would.
SCRIPT = """
from homi.cli import hooked
hooked.PATIENCE, hooked.RESTART = 60.0, 120.0
hooked.run("", "prompt")
"""
WELCOME = b'{"i":0,"ok":{"v":1,"caller":"session"}}\n'
BRIEF = b'{"i":1,"ok":{"text":"mail"}}\n'


@pytest.mark.parametrize(("mode", "waits"), [(0o600, False), (0o700, True)])
def test_a_hook_waits_longer_where_the_socket_says_that_a_restart_goes_on(
    mode: int, waits: bool
) -> None:
    """Once: behind that it gives up as with any other daemon."""
    with tempfile.TemporaryDirectory() as root, socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{root}/homi.sock")
        os.chmod(f"{root}/homi.sock", mode)
        door.listen()
        door.settimeout(30)
        hook = subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "HOMI_HOME": root, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert hook.stdin is not None
        hook.stdin.write(GIVEN)
        hook.stdin.close()
        hook.stdin = None
        caller, _ = door.accept()
        with caller:
            caller.settimeout(30)
            assert b"hello" in caller.recv(1 << 16)
            hook.send_signal(signal.SIGALRM)
            if waits:
                caller.sendall(WELCOME)
                assert b'"verb":"hook"' in caller.recv(1 << 16)
                caller.sendall(BRIEF)
                assert b'"verb":"printed"' in caller.recv(1 << 16)
                hook.send_signal(signal.SIGALRM)
            assert hook.wait(30) == 0
        out = hook.communicate()[0]
    assert (b"mail" in out) is waits
