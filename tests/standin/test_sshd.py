"""The stand-in ssh server is a real one: let in, kept out, cut, stalled, changed."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.standin import sshd
from tests.standin.driver import ROOT
from tests.standin.place import Place, until
from tests.standin.sshd import Sshd


@pytest.fixture
def lab() -> Iterator[tuple[Place, Place, Sshd]]:
    """A client, a far place, and the server of that one."""
    sshd.need()
    with (
        Place(device="lap") as near,
        Place(device="mini") as far,
        Sshd(far) as server,
    ):
        yield near, far, server


def ssh(near: Place, *argv: str) -> subprocess.CompletedProcess[str]:
    """The user's own ssh, which never asks."""
    return subprocess.run(
        ["ssh", "-o", "BatchMode=yes", *argv],
        env=near.env(),
        cwd=near.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_login_runs_in_the_far_place(lab: tuple[Place, Place, Sshd]) -> None:
    """Its home, its state root, its homi."""
    near, far, server = lab
    host = server.reach(near)
    done = ssh(near, host, 'echo "$HOME $HOMI_HOME"; ~/.local/bin/homi config device')
    assert done.returncode == 0, done.stderr
    places, config = done.stdout.splitlines()
    assert places == f"{far.home} {far.state}"
    assert config.split("\t")[1] == "mini"


def test_an_unknown_host_and_a_changed_key_are_refused(
    lab: tuple[Place, Place, Sshd],
) -> None:
    """By ssh itself; trust() is the cure of both."""
    near, _, server = lab
    host = server.reach(near, trust=False)
    assert "Host key verification failed" in ssh(near, host, "true").stderr
    server.trust(near)
    assert ssh(near, host, "true").returncode == 0
    server.change_host_key()
    changed = ssh(near, host, "true")
    assert changed.returncode == 255
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in changed.stderr
    server.trust(near)
    assert ssh(near, host, "true").returncode == 0


def test_a_key_behind_a_passphrase_lets_nobody_in(
    lab: tuple[Place, Place, Sshd],
) -> None:
    """There is nobody to type it."""
    near, _, server = lab
    done = ssh(near, server.reach(near, passphrase="s3cret"), "true")
    assert done.returncode == 255
    assert "Permission denied" in done.stderr


def test_a_banner_and_a_noisy_shell_are_heard(lab: tuple[Place, Place, Sshd]) -> None:
    """The one on stderr, the other in the output."""
    near, _, server = lab
    host = server.reach(near)
    server.banner("authorised users only\n")
    server.noisy("welcome to mini\n")
    done = ssh(near, host, "echo done")
    assert "authorised users only" in done.stderr
    assert done.stdout == "welcome to mini\ndone\n"


def test_a_cut_ends_and_a_stall_stops_a_session(
    lab: tuple[Place, Place, Sshd],
) -> None:
    """And a server that is down refuses, until it is up."""
    near, _, server = lab
    host = server.reach(near)
    client = subprocess.Popen(
        ["ssh", "-o", "BatchMode=yes", host, "echo up; exec cat"],
        env=near.env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with client:
        assert client.stdin is not None
        assert client.stdout is not None
        assert client.stdout.readline() == "up\n"
        server.stall()
        assert server.pids()
        client.stdin.write("hello\n")
        client.stdin.flush()
        server.resume()
        assert client.stdout.readline() == "hello\n"
        assert server.cut() == 1
        assert client.wait(60) == 255
    assert not server.pids()
    server.down()
    assert "refused" in ssh(near, host, "true").stderr
    server.up()
    until(lambda: ssh(near, host, "true").returncode == 0, "it is up")


def test_the_hardening_example_is_one_that_sshd_takes(
    lab: tuple[Place, Place, Sshd],
) -> None:
    """For its user alone, and closed there."""
    _, _, server = lab
    example = ROOT / "contrib" / "ssh" / "sshd_config.d" / "homi.conf"
    server.config.write_text(server.config.read_text() + example.read_text())
    shown = {user: server.effective(user) for user in ("homi", "other")}
    command = "/usr/local/bin/homi --home /var/lib/homi/state link serve --peer laptop"
    assert shown["homi"]["forcecommand"] == command
    assert shown["homi"]["disableforwarding"] == "yes"
    assert shown["homi"]["permittty"] == "no"
    assert shown["other"]["forcecommand"] == "none"
