"""What is read of the user's ssh files, and what its refusals mean; no host is met."""

import asyncio
import socket
from pathlib import Path

import asyncssh
import pytest

from homi.links.identity import Identity
from homi.links.pipe import Pipe, Talker
from homi.links.ssh import Dialler, Hosts, _Client, _of_host_key
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


@pytest.mark.parametrize(
    ("port", "alias", "line"),
    [
        (22, None, "mini"),
        (2222, None, "'[mini]:2222'"),
        (22, "mini", "mini"),
        (2222, "mini", "mini"),  # as OpenSSH looks an alias up
    ],
)
def test_the_fix_for_a_changed_host_key_names_the_line_that_ssh_has(
    tmp_path: Path, port: int, alias: str | None, line: str
) -> None:
    """What ssh-keygen -R does not find, it does not remove."""
    file = tmp_path / "known_hosts"
    file.write_text(f"mini {KEY}\n[mini]:2222 {KEY}\n")
    client = _Client()
    client.meet(Hosts([str(file)]), "me@box:2222", alias)
    key = asyncssh.import_public_key(OTHER)
    assert not client.validate_host_public_key("mini", "", port, key)
    found = _of_host_key("Host key is not trusted", client)
    assert found.fix == (
        f"ssh-keygen -R {line}, then ssh -p 2222 me@box true to meet it anew"
    )
    assert "another key is in known_hosts" in found.text


def test_a_host_key_that_a_person_revoked_is_never_to_be_met_again() -> None:
    """Nor is it compared."""
    client = _Client()
    client.meet(Hosts([]), "mini", None)
    assert "@revoked" in _of_host_key("Host key is revoked", client).fix
    met = _of_host_key("Host key is not trusted", client)
    assert met.fix == "ssh mini true, and compare the fingerprint"
