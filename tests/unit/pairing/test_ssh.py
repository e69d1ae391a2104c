"""What ssh says becomes a failure with its own status and the exact fix."""

import os
import signal
import threading
from pathlib import Path

import pytest

from homi.errors import HomiError, NotAllowed, Unavailable, Usage
from homi.pairing.ssh import Ssh, refusal
from tests.standin.place import until

CHANGED = """\
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
Offending ED25519 key in /home/me/.ssh/known_hosts:1
  remove with:
  ssh-keygen -f "/home/me/.ssh/known_hosts" -R "[192.0.2.7]:2222"
Host key for [192.0.2.7]:2222 has changed and you have requested strict checking.
Host key verification failed.
"""


@pytest.mark.parametrize(
    ("said", "kind", "text", "fix"),
    [
        (CHANGED, NotAllowed, "has changed", "ssh-keygen -R '[192.0.2.7]:2222'"),
        ("Host key verification failed.\n", NotAllowed, "not known", "ssh me@mini"),
        ("me@mini: Permission denied (publickey).\n", NotAllowed, "let you in", "ssh-"),
        (
            "Received disconnect from 192.0.2.7: 2: Too many authentication failures\n",
            NotAllowed,
            "too many keys",
            "IdentityFile",
        ),
        (
            "ssh: Could not resolve hostname mini: Name or service not known\n",
            Unavailable,
            "no host me@mini",
            "name right",
        ),
        ("connect to host mini port 22: Connection refused\n", Unavailable, "", "sshd"),
        ("connect to host mini port 22: Connection timed out\n", Unavailable, "", "up"),
        ("something new\n", Unavailable, "something new", "must work first"),
        ("", Unavailable, "said nothing", "must work first"),
    ],
)
def test_each_refusal_has_its_fix(
    said: str, kind: type[HomiError], text: str, fix: str
) -> None:
    """A warning of ssh before it is not taken for the cause."""
    warned = f"** WARNING: connection is not using a post-quantum key\n{said}"
    for whole in (said, warned if said else said):
        error = refusal("me@mini", whole)
        assert type(error) is kind
        assert text in error.text
        assert fix in error.hint


@pytest.mark.parametrize("host", ["-oProxyCommand=x", "a b", "", "a\nb", "x" * 300])
def test_what_ssh_would_take_for_something_else_is_no_host(host: str) -> None:
    """It never reaches ssh."""
    with pytest.raises(Usage, match="is no host"):
        Ssh(host)


def test_a_ctrl_c_that_ssh_did_not_hear_still_lets_it_mend_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked to end before it is killed: at a prompt nothing typed is shown."""
    program, asked, mended = (tmp_path / name for name in ("ssh", "asked", "mended"))
    program.write_text(
        f"#!/bin/sh\ntrap '' INT\ntrap 'echo >{mended}; exit' TERM\n"
        f"cat\necho >{asked}\n"  # its input ends once it is waited for
        "while :; do sleep 0.05; done\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def press() -> None:
        until(asked.exists, "it asks")
        os.kill(os.getpid(), signal.SIGINT)

    person = threading.Thread(target=press)
    person.start()
    with pytest.raises(KeyboardInterrupt):
        Ssh("mini").run("true")
    person.join()
    assert mended.exists()
