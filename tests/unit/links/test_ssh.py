"""What is read of the user's ssh files, and what its refusals mean; no host is met."""

import asyncio
import socket
from pathlib import Path

import asyncssh
import pytest

from homi.links.identity import Identity
from homi.links.pipe import Pipe, Talker
from homi.links.ssh import Dialler, Hosts, _parts
from homi.links.state import LinkState, Refusal, Verdict

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA" + "9" * 42


def refused(home: Path, host: str, config: str) -> Verdict:
    """What a dial of host says, with that ssh config."""
    (home / ".ssh").mkdir()
    (home / ".ssh" / "config").write_text(config)
    dialler = Dialler(Identity.load(home).path, 15, home)

    def make(_pipe: Pipe) -> Talker:
        raise AssertionError("nobody is there")

    with pytest.raises(Refusal) as error:
        asyncio.run(dialler.dial(host, make))
    return error.value.verdict


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("mini", ("", "mini", 0)),
        ("me@mini", ("me", "mini", 0)),
        ("me@mini.example:2222", ("me", "mini.example", 2222)),
        ("a@b@mini", ("a@b", "mini", 0)),
        ("::1", ("", "::1", 0)),
        ("[::1]:22", ("", "::1", 22)),
        ("fe80::1", ("", "fe80::1", 0)),
    ],
)
def test_a_host_may_have_a_user_and_a_port(
    given: str, parts: tuple[str, str, int]
) -> None:
    assert _parts(given) == parts


def test_a_config_that_cannot_be_read_is_told_with_its_line(tmp_path: Path) -> None:
    found = refused(tmp_path, "mini", "Host mini\n    Port many\n")
    assert found.state is LinkState.UNREACHABLE
    assert "line 2" in found.text


def test_jump_hosts_that_lead_to_each_other_end(tmp_path: Path) -> None:
    config = "Host a\n    ProxyJump b\nHost b\n    ProxyJump a\n"
    assert "jump hosts" in refused(tmp_path, "a", config).text


def test_a_port_nobody_listens_at_is_unreachable(tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        found = refused(
            tmp_path, "mini", f"Host mini\n  HostName 127.0.0.1\n  Port {port}\n"
        )
    assert found.state is LinkState.UNREACHABLE
    assert "refused" in found.text.lower()
    assert found.fix == "ssh mini true shows more"


def test_a_bad_line_of_known_hosts_costs_only_itself(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"nonsense\n@what mini {KEY}\n|1|x {KEY}\nmini {KEY}\n")
    hosts = Hosts([str(tmp_path / "absent"), str(file)])
    assert hosts.knows("mini", "", 22)
    assert not hosts.knows("maxi", "", 22)
    keys = hosts.known.match("mini", "", None)[0]
    assert [key.export_public_key() for key in keys] == [
        asyncssh.import_public_key(KEY).export_public_key()
    ]
