"""Two devices paired by the user's own ssh, over a real sshd."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from homi.errors import NoSuchDevice, NotAllowed, Unavailable, Usage
from tests.standin import sshd
from tests.standin.place import Place, until
from tests.standin.sshd import Sshd

BASE = os.path.realpath(getattr(sys, "_base_executable", sys.executable))


class Lab(NamedTuple):
    """A laptop whose daemon runs, and another machine with an sshd."""

    lap: Place
    mini: Place
    server: Sshd

    def pair(self, *options: str) -> subprocess.CompletedProcess[str]:
        """homi pair, as the person at the laptop runs it."""
        return self.lap.homi("pair", "mini", *options)

    def steps(self, *argv: str) -> dict[str, dict[str, Any]]:
        """The steps of a command that must succeed."""
        out = self.lap.ok(*argv, "--json")
        return {step["step"]: step for step in map(json.loads, out.splitlines())}

    def lines(self) -> list[str]:
        """The lines of authorized_keys on the other machine that are homi's."""
        text = self.server.authorized.read_text()
        return [line for line in text.splitlines() if line.startswith("restrict")]


@pytest.fixture
def lab() -> Iterator[Lab]:
    """The other daemon does not run, and nobody was paired."""
    sshd.need()
    with contextlib.ExitStack() as stack:
        lap = stack.enter_context(Place(device="lap"))
        mini = stack.enter_context(Place(device="mini"))
        server = stack.enter_context(Sshd(mini))
        stack.callback(mini.homi, "stop")  # whoever started it
        lap.start()
        yield Lab(lap, mini, server)


def failed(done: subprocess.CompletedProcess[str], status: int, *said: str) -> None:
    """A command ended so, and said why and what to do."""
    assert done.returncode == status, done
    for words in said:
        assert words in done.stderr
    assert "homi: hint: " in done.stderr


def test_paired_twice_and_ended(lab: Lab) -> None:
    """Each step tells what it did; again it does nothing; then all of it is gone."""
    lab.server.reach(lab.lap)
    before = lab.server.authorized.read_text()
    done = lab.steps("pair", "mini")
    assert list(done) == [
        *("ssh", "homi", "daemon", "devices", "there", "here", "out", "in")
    ]
    assert {key for key, step in done.items() if step.get("changed")} == {
        *("daemon", "there", "here")
    }
    assert done["devices"]["text"] == "lap here, mini there"
    assert [len(done[way]["ms"]) for way in ("out", "in")] == [3, 3]
    (line,) = lab.lines()
    assert line.endswith(" homi:lap")
    assert f"--home {lab.mini.state} link serve --peer lap" in line

    again = lab.steps("pair", "mini")
    assert not [step for step in again.values() if step.get("changed")]
    assert lab.lines() == [line]

    ended = lab.steps("unpair", "mini")
    assert [step["changed"] for step in ended.values()] == [True, True]
    assert lab.server.authorized.read_text() == before
    assert not lab.mini.json("link", "ls", "--no-probe")
    assert not lab.lap.json("link", "ls", "--no-probe")
    failed(lab.lap.homi("unpair", "mini"), NoSuchDevice.exit_status, "no device mini")


def test_unpair_with_the_other_side_gone_tells_what_is_left(lab: Lab) -> None:
    """This side is clean, and a later hand can finish the other.  What a shell there
    prints is no answer, and a banner none."""
    lab.server.reach(lab.lap)
    lab.server.banner("authorised users only\n")
    lab.server.noisy("welcome to mini\nmini\t/bin/homi")
    assert lab.steps("pair", "mini")["out"]["ms"]
    lab.server.down()
    lab.server.cut()
    done = lab.lap.homi("unpair", "mini")
    assert done.returncode == 0
    assert "left: the line homi:lap in authorized_keys on mini" in done.stderr
    assert not lab.lap.json("link", "ls", "--no-probe")
    assert len(lab.lines()) == 1
    lab.mini.ok("link", "expel", "lap")
    assert lab.lines() == []


def test_another_key_of_the_other_device_is_pinned_by_pairing_again(lab: Lab) -> None:
    """And of this one: the old line goes."""
    lab.server.reach(lab.lap)
    lab.steps("pair", "mini")
    (line,) = lab.lines()
    for one in (lab.lap, lab.mini):
        one.ok("stop")
        for file in (one.state / "keys").iterdir():
            file.unlink()
    until(lambda: not lab.lap.answers(), "the daemon is gone")
    assert lab.lap.daemon is not None
    lab.lap.daemon.wait(15)
    lab.lap.start()
    done = lab.steps("pair", "mini")
    assert "its key was SHA256:" in done["here"]["note"]
    assert len(lab.lines()) == 1
    assert lab.lines() != [line]


def test_what_ssh_refuses_is_told_with_the_fix(lab: Lab) -> None:
    """Unknown host, then a key nobody can unlock, then a changed host key, then
    nobody there; nothing is changed by any."""
    lab.server.reach(lab.lap, trust=False)
    failed(lab.pair(), NotAllowed.exit_status, "is not known to your ssh", "ssh mini")
    lab.server.trust(lab.lap)
    lab.server.change_host_key()
    failed(lab.pair(), NotAllowed.exit_status, "has changed", "ssh-keygen -R")
    lab.server.trust(lab.lap)
    lab.server.down()
    failed(lab.pair(), Unavailable.exit_status, "has no sshd")
    lab.server.up()
    assert lab.lines() == []
    assert not lab.lap.json("link", "ls", "--no-probe")


def test_a_key_with_a_passphrase_is_never_waited_for(lab: Lab) -> None:
    """Without a terminal nobody can type it; the hint says what can be done."""
    lab.server.reach(lab.lap, passphrase="s3cret")
    failed(lab.pair(), NotAllowed.exit_status, "does not let you in", "ssh-add")
    failed(lab.lap.homi("pair", "-oProxyCommand=x"), Usage.exit_status)


def test_two_devices_of_one_name_are_refused(lab: Lab) -> None:
    """Before anything is changed; what the hints say mends it."""
    lab.server.reach(lab.lap)
    settings = lab.mini.home / ".config" / "homi" / "homi.toml"
    settings.write_text(settings.read_text().replace("mini", "lap"))
    failed(lab.pair(), Usage.exit_status, "both devices are called lap", "--name NAME")
    assert lab.lines() == []
    settings.unlink()
    named = lab.pair("--name", "attic")
    failed(named, Usage.exit_status, "is called lap, not attic", "homi stop, then this")
    lab.mini.ok("stop")
    done = lab.steps("pair", "mini", "--name", "attic")
    assert done["devices"]["text"] == "lap here, attic there"
    failed(lab.pair("--name", "cellar"), Usage.exit_status, "is called attic")


def test_without_a_homi_there_nothing_is_installed_unasked(lab: Lab) -> None:
    """--no-install only looks; --homi looks there and nowhere else."""
    lab.server.reach(lab.lap)
    elsewhere = lab.mini.work / "homi"
    (lab.mini.home / ".local" / "bin" / "homi").rename(elsewhere)
    done = lab.pair("--no-install")
    failed(done, Unavailable.exit_status, "there is no homi on mini")
    failed(lab.pair("--homi", "/bin/true"), Unavailable.exit_status, "no homi that")
    found = lab.steps("pair", "mini", "--homi", str(elsewhere), "--no-install")
    assert found["homi"]["text"].startswith(f"{elsewhere}, ")


def test_this_homi_is_copied_to_a_machine_without(lab: Lab) -> None:
    """All of it: it runs there from a folder of its own."""
    lab.server.reach(lab.lap)
    command = lab.mini.home / ".local" / "bin" / "homi"
    command.unlink()
    path = f"{os.path.dirname(BASE)}:/usr/bin:/bin"
    lab.server.configure(PATH=path, PYTHONPATH="")
    done = lab.steps("pair", "mini")
    assert done["homi"]["changed"]
    assert "copied" in done["homi"]["text"]
    assert str(command) in done["homi"]["text"]
    library = lab.mini.home / ".local" / "share" / "homi" / "lib"
    assert (library / "homi" / "daemon.py").exists()
    assert f'sys.path.insert(0, "{library}")' in command.read_text()
    assert not lab.steps("pair", "mini")["homi"]["changed"]
