"""The file of a service manager: written, known again, left where it is not ours."""

import plistlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from homi.errors import CannotCreate, Unavailable
from homi.setup import unit
from homi.setup.editor import State
from homi.setup.installation import Row
from homi.setup.manager import Launchd, Systemd
from homi.setup.service import Service

ODD = ["/usr/bin/env", "--home", '/tmp/a b%i"$HOME\\']


class Twin:
    """A service manager in memory."""

    def __init__(self, path: Path, *, absent: bool = False) -> None:
        self.path = path
        self.done: list[str] = []
        self.absent = absent

    def text(self, command: Sequence[str], log: Path) -> str:
        return unit.unit(command, f"/bin:{log.parent}")

    def need(self) -> None:
        if self.absent:
            raise Unavailable("there is no systemd here")

    def begin(self, *, now: bool) -> None:
        self.done.append(f"begin {now}")

    def active(self) -> bool:
        return False

    def end(self) -> None:
        self.done.append("end")

    def ended(self) -> None:
        self.done.append("ended")

    def notes(self) -> list[str]:
        return []


@pytest.fixture
def manager(tmp_path: Path) -> Twin:
    """One that has no file yet."""
    return Twin(tmp_path / "systemd" / "user" / unit.NAME)


def change(
    twin: Twin, *, remove: bool = False, dry: bool = False, running: bool = False
) -> Row:
    """One homi setup service."""
    service = Service(twin, ["/bin/homi"], Path("/root"))
    return service.change(remove=remove, dry=dry, running=running)


def test_a_service_is_set_up_once_and_taken_away_again(manager: Twin) -> None:
    """What it started is stopped before its file goes."""
    assert change(manager).state is State.ADDED
    assert change(manager, running=True).state is State.ALREADY
    assert change(manager, remove=True).state is State.REMOVED
    assert change(manager, remove=True).state is State.ABSENT
    assert manager.done == ["begin True", "begin False", "end", "ended"]
    assert not manager.path.exists()


def test_a_file_of_an_earlier_homi_is_replaced(manager: Twin) -> None:
    """It is as homi wrote it, so nobody misses it."""
    manager.path.parent.mkdir(parents=True)
    manager.path.write_text(unit.unit(["/old/homi"], "/bin"))
    assert change(manager).state is State.UPDATED
    assert "/old/homi" not in manager.path.read_text()


@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize("mine", ["[Service]\nExecStart=/mine\n", "changed"])
def test_a_file_of_others_stays_as_it_is(
    manager: Twin, mine: str, *, remove: bool
) -> None:
    """Neither one that homi did not write nor one that a person changed."""
    if mine == "changed":
        mine = unit.unit(["/bin/homi"], "/bin") + "Nice=5\n"
    manager.path.parent.mkdir(parents=True)
    manager.path.write_text(mine)
    row = change(manager, remove=remove)
    assert row.state is (State.KEPT if "Nice" in mine else State.LEFT)
    assert row.note
    assert manager.path.read_text() == mine
    assert manager.done == []


def test_where_there_is_no_manager_nothing_is_written(manager: Twin) -> None:
    """But what would be is shown."""
    manager.absent = True
    assert "+ExecStart=/bin/homi run" in change(manager, dry=True).diff
    with pytest.raises(Unavailable):
        change(manager)
    assert not manager.path.exists()


def test_the_unit_is_one_that_systemd_understands(tmp_path: Path) -> None:
    """Also with a home that has everything in its name."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    good = unit.unit([*ODD, "\nExecStart=\x1b[2J"], "/bin:/a b")
    assert verified(tmp_path, good) == ""
    assert good.count("\nExecStart=") == 1
    bad = good.replace("Type=notify", "Type=nonsense")
    assert "nonsense" in verified(tmp_path, bad)


@pytest.mark.parametrize(
    ("program", "more", "path"),
    [
        ("/bin/ho\nmi", "/root", "/bin"),
        ("/bin/homi", "/ro\x1b[2Jot", "/bin"),
        ("/bin/homi", "/ro\udce9ot", "/bin"),
        ("/bin/homi", "/root", "/bin:/x\x07"),
        ('/bin/"homi"', "/root", "/bin"),
        ("/bin/ho\\mi", "/root", "/bin"),
    ],
)
def test_words_that_no_service_manager_takes_are_refused(
    monkeypatch: pytest.MonkeyPatch, program: str, more: str, path: str
) -> None:
    """In one line that can be printed; quotes are systemd's matter alone."""
    command = [program, "--home", more]
    for manager in (Systemd(), Launchd()):
        monkeypatch.setenv("PATH", "/bin")
        manager.text(["/bin/homi", "--home", '/a b%$"\\'], Path("/log"))
        monkeypatch.setenv("PATH", path)
        if isinstance(manager, Launchd) and set(program) & {'"', "\\"}:
            continue
        with pytest.raises(CannotCreate) as refused:
            manager.text(command, Path("/log"))
        assert refused.value.text.isprintable()


def test_only_the_words_behind_the_program_are_kept_from_being_variables() -> None:
    """systemd takes the program as it stands."""
    text = unit.unit(["/a$b/homi", "--home", "/c$d"], "/bin")
    assert '\nExecStart="/a$b/homi" --home "/c$$d" run\n' in text


def test_a_masked_unit_is_left_masked(manager: Twin) -> None:
    """A person said that it is never started."""
    manager.path.parent.mkdir(parents=True)
    manager.path.symlink_to("/dev/null")
    with pytest.raises(CannotCreate, match="is masked"):
        change(manager)
    assert manager.path.is_symlink()
    assert manager.done == []


def verified(folder: Path, text: str) -> str:
    """What systemd-analyze says of a unit."""
    file = folder / unit.NAME
    file.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", str(file)],
        env={"XDG_RUNTIME_DIR": str(folder), "HOME": str(folder), "PATH": "/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stderr


def test_the_property_list_says_what_the_unit_says() -> None:
    """And is known again, unless a person changed it."""
    text = unit.agent(ODD, "/bin", "/root/log/homi.log")
    there = plistlib.loads(text.encode())
    assert there["ProgramArguments"] == [*ODD, "run"]
    assert there["EnvironmentVariables"] == {"PATH": "/bin"}
    assert unit.ours(text.encode()) is True
    assert unit.ours(text.replace("Background", "Interactive").encode()) is None
    assert unit.ours(plistlib.dumps({"Label": "mine"})) is False
