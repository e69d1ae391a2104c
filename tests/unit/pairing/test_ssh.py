"""What ssh says becomes a failure with its own status and the exact fix."""

import pytest

from homi.errors import HomiError, NotAllowed, Unavailable, Usage
from homi.pairing.ssh import Ssh, refusal

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
