"""What goes wrong on the disk, and what a person is told."""

import errno
import json
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from homi import __version__
from homi.cli.fast import guarded
from homi.cli.main import MODULES
from homi.setup import claude, guide
from homi.setup.installation import Installation
from tests.unit.setup.kit import Home

GIVEN = '{\n  "model": "opus"\n}\n'


@pytest.fixture
def settings(home: Home) -> Path:
    """The settings of a client that has run."""
    file = home.config / "settings.json"
    file.write_text(GIVEN)
    return file


@pytest.mark.parametrize("given", [b"", b"[]", b'{"hooks": []}', b'{"a": \xff}'])
def test_a_file_that_cannot_be_edited_safely_is_left_alone(
    home: Home, settings: Path, given: bytes
) -> None:
    """One clear line, 65, and what to paste."""
    settings.write_bytes(given)
    status, out, err = home.setup("claude")
    assert status == 65
    assert re.fullmatch(r"homi: .* is left alone: .*\nhomi: hint: .*\n", err)
    paste = json.loads(out[out.index("{") :])
    assert set(paste["hooks"]) == set(claude.EVENTS)
    assert settings.read_bytes() == given


def test_pasted_by_hand_is_known(home: Home, settings: Path) -> None:
    """Nothing is put in twice, and nothing is called ours that is not recorded."""
    settings.write_text("")
    _, out, _ = home.setup("claude")
    settings.write_text(out[out.index("{") :])
    assert home.states("claude") == {"already"}
    assert home.states("claude", "--remove") == {"removed", "not there"} - {"not there"}
    assert "homi" not in settings.read_text()


def test_a_dry_run_shows_the_difference_and_changes_nothing(
    home: Home, settings: Path
) -> None:
    """Both ways; the second time there is nothing to show."""
    state = home.config / ".claude.json"
    state.write_text('{\n  "mcpServers": {},\n  "key": "sk-secret"\n}\n')
    before = home.files()
    status, out, err = home.setup("claude", "--dry-run")
    assert (status, err, home.files()) == (0, "", before)
    assert f"--- {settings}\n+++ {settings}\n" in out
    assert f'+            "command": "{home.homi} hook stop",' in out
    assert "--- /dev/null\n" in out
    assert "sk-secret" not in out
    home.setup("claude")
    after = home.files()
    status, out, err = home.setup("claude", "--dry-run")
    assert (status, out, err) == (0, "", "homi: nothing would change\n")
    status, out, _ = home.setup("claude", "--remove", "--dry-run")
    assert f'-            "command": "{home.homi} hook stop",' in out
    assert home.files() == after


@pytest.mark.parametrize("what", ["settings.json", "skills", "skills/homi"])
def test_a_link_that_leads_nowhere_is_named(home: Home, what: str) -> None:
    """Made there, it would be a file nobody asked for."""
    nowhere = home.path / "nowhere" / "there"
    link = home.config / what
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(nowhere)
    status, _, err = home.setup("claude")
    assert status == 73
    assert f"homi: {link} is a link to {nowhere}, which is not there" in err
    assert not nowhere.parent.exists()


def test_a_link_stays_a_link(home: Home, settings: Path) -> None:
    """Settings often live in a repository."""
    real = home.path / "dotfiles.json"
    settings.rename(real)
    settings.symlink_to(real)
    assert home.states("claude") == {"added"}
    assert settings.is_symlink()
    assert "homi" in real.read_text()
    assert home.states("claude", "--remove") == {"removed"}
    assert settings.is_symlink()
    assert real.read_text() == GIVEN


def test_what_is_read_only_is_not_replaced(home: Home, settings: Path) -> None:
    """A person, or what manages their files, meant it."""
    settings.chmod(0o444)
    status, _, err = home.setup("claude")
    assert (status, settings.read_text()) == (73, GIVEN)
    assert err.startswith(f"homi: {settings} is read-only\n")
    settings.chmod(0o644)
    assert home.states("claude") == {"added"}


def test_a_client_that_never_ran_is_told(home: Home) -> None:
    """No folder is made for it."""
    home.config.rmdir()
    status, out, err = home.setup("codex")
    assert (status, out) == (78, "")
    assert "codex has not run here" in err
    home.config.write_text("")
    status, _, err = home.setup("codex")
    assert (status, "is no folder" in err) == (78, True)
    home.config.unlink()
    home.config.symlink_to(home.path / "nowhere")
    assert home.setup("codex")[0] == 73


def test_the_folder_of_a_user_nobody_is_is_told(home: Home) -> None:
    """As a folder that is not there."""
    status, _, err = home.setup("codex", "--config-dir", "~no_such_user/x")
    assert (status, "codex has not run here" in err) == (78, True)


def test_a_folder_in_the_place_of_a_file_is_told(home: Home) -> None:
    """And a record that is none."""
    (home.config / "settings.json").mkdir()
    status, _, err = home.setup("claude")
    assert (status, "settings.json is no file" in err) == (78, True)
    (home.config / "settings.json").rmdir()
    (home.config / "homi-setup.json").write_text("{")
    status, _, err = home.setup("claude")
    assert (status, "is no record of homi" in err) == (78, True)


def test_a_change_of_somebody_else_is_not_lost(
    home: Home, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client wrote between reading and replacing: told, and done the next time."""
    sync = os.fsync

    def meanwhile(fd: int) -> None:
        if (home.config / ".settings.json.homi").exists():
            settings.write_text('{"model": "haiku"}')
        sync(fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", meanwhile)
        status, _, err = home.setup("claude")
    assert (status, "was changed meanwhile" in err) == (75, True)
    assert settings.read_text() == '{"model": "haiku"}'
    assert home.states("claude") == {"added"}
    home.setup("claude", "--remove")
    assert json.loads(settings.read_text()) == {"model": "haiku"}


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_two_at_once_do_not_write_each_other_s_files(
    home: Home, settings: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    """The second is told so, and what was before can still be had exactly; once the
    first is done there is nothing left to do."""
    before = home.files()
    monkeypatch.setattr("homi.setup.place.PATIENCE", 0.0)
    first = Installation(client, str(home.config), [str(home.homi)])
    rows = first.change(remove=False, dry=False)
    next(rows)
    for more in ((), ("--remove",)):
        status, out, err = home.setup(client, *more)
        assert (status, out) == (75, "")
        assert "another homi setup is at work" in err
    assert home.setup(client, "--dry-run")[0] == 0
    list(rows)
    assert home.states(client) == {"already"}
    assert home.states(client, "--remove") == {"removed"}
    assert home.files() == before


def test_what_is_read_before_another_is_done_is_read_anew(
    home: Home, settings: Path
) -> None:
    """One that waited for the other forgets nothing that it recorded."""
    before = home.files()
    late = Installation("claude", str(home.config), [str(home.homi)])
    home.setup("claude")
    settings.write_text(settings.read_text().replace("hook stop", "hook other"))
    list(late.change(remove=False, dry=False))
    record = json.loads((home.config / "homi-setup.json").read_text())
    assert set(record["files"]) == {"settings.json", ".claude.json", guide.Guide.name}
    home.setup("claude", "--remove")
    assert ".claude.json" not in home.files()
    assert before.keys() <= home.files().keys()


def failing(call: Callable[..., object], at: int) -> Callable[..., object]:
    """call, but the disk fails it the at-th time."""
    left = iter(range(at, -1, -1))

    def run(*args: object, **more: object) -> object:
        if next(left, None) == 0:
            raise OSError(errno.EIO, "Input/output error")
        return call(*args, **more)

    return run


@pytest.mark.parametrize("verb", [(), ("--remove",)], ids=["put in", "take out"])
@pytest.mark.parametrize("name", ["fsync", "replace", "unlink"])
def test_a_disk_that_fails_at_any_step_leaves_whole_files(
    home: Home,
    settings: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    verb: tuple[str, ...],
) -> None:
    """The old or the new; the same call goes on, and all of it can be taken back."""
    before = home.files()
    home.setup("claude")
    after = home.files()
    for at in range(40):
        home.setup("claude", *(() if verb else ("--remove",)))
        start = home.files()
        with monkeypatch.context() as patched:
            patched.setattr(os, name, failing(getattr(os, name), at))
            status, _, err = home.setup("claude", *verb)
        found = home.files()
        for file in ("settings.json", ".claude.json"):
            assert found.get(file) in (before.get(file), after.get(file)), start
        assert not [one for one in found if one.startswith(".") and "homi" in one]
        assert home.setup("claude", *verb)[0] == 0
        assert home.setup("claude", "--remove")[0] == 0
        assert home.files() == before
        if status == 0:
            return
        assert (status, "Input/output error" in err) == (74, True)
    pytest.fail("it never came to an end")


def killed_at(home: Home, name: str, at: int, *verb: str) -> bool:
    """Run setup in a child that dies at its at-th call of os.NAME; whether it did."""
    with warnings.catch_warnings():
        # Newer Pythons warn of threads, which the child has no use for.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        call, left = getattr(os, name), iter(range(at, -1, -1))

        def run(*args: object, **more: object) -> object:
            if next(left, None) == 0:
                os._exit(9)
            return call(*args, **more)

        setattr(os, name, run)
        guarded(["setup", "claude", *home.where(), *verb])
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize("verb", [(), ("--remove",)], ids=["put in", "take out"])
@pytest.mark.parametrize("name", ["fsync", "replace", "unlink"])
def test_a_setup_that_is_killed_at_any_step_can_be_gone_on_with(
    home: Home, settings: Path, name: str, verb: tuple[str, ...]
) -> None:
    """The files are whole, and all of it can be taken back.  What may stay is the
    lock of the client's own state: that is told."""
    before = home.files()
    home.setup("claude")
    after = home.files()
    lock = home.config / ".claude.json.lock"
    for at in range(40):
        home.setup("claude", *(() if verb else ("--remove",)))
        died = killed_at(home, name, at, *verb)
        found = home.files()
        for file in ("settings.json", ".claude.json"):
            assert found.get(file) in (before.get(file), after.get(file))
        if lock.exists():
            lock.rmdir()
        assert home.setup("claude", *verb)[0] == 0
        assert home.setup("claude", "--remove")[0] == 0
        left = {name for name in home.files() if name not in before}
        # A hidden file of the one that died goes when the same file is written next.
        assert all(re.fullmatch(r"(.*/)?\..*\.homi", name) for name in left), left
        assert home.files()["settings.json"] == before["settings.json"]
        if not died:
            return
    pytest.fail("it never came to an end")


def test_another_program_called_homi_is_told(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent's shell would run that; one that is homi is none to speak of."""
    ours = home.homi
    other = home.path / "first"
    home.bin = other
    theirs = home.program("homi", "echo 'The Homi Editor 3'")
    monkeypatch.setenv("PATH", f"{other}:/usr/bin:/bin")
    status, _, err = home.setup("claude", homi=ours)
    assert status == 0
    assert f"{theirs}, the homi in PATH, is another program: it says" in err
    assert "'The Homi Editor 3'" in err
    home.program("homi", f"echo 'homi {__version__}'")
    assert home.setup("claude", homi=ours)[2] == ""
    theirs.unlink()
    assert "no homi is in PATH" in home.setup("claude", homi=ours)[2]


def test_tools_that_would_not_start_are_told(home: Home) -> None:
    """In homi's own words; the files are written all the same."""
    home.program("homi", "echo 'homi: a package is missing' >&2; exit 69")
    status, out, err = home.setup("claude")
    assert (status, "added\ttools" in out) == (0, True)
    assert err == "homi: the tools would not start: a package is missing\n"
    home.program("homi", "exit 0")
    assert home.setup("claude")[2] == ""


def test_a_program_that_is_none_is_refused(home: Home) -> None:
    """Before anything is changed."""
    status, out, err = home.setup("claude", homi=home.path / "homi")
    assert (status, out, home.files()) == (64, "", {})
    assert "is no program" in err


def test_json_has_a_row_for_each_part(home: Home) -> None:
    """With its file; and the difference where it was only asked for."""
    _, out, _ = home.setup("claude", "--json", "--dry-run")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["part"] for row in rows] == ["hooks", "permissions", "tools", "guide"]
    assert rows[0]["state"] == "added"
    assert rows[0]["diff"].startswith("--- /dev/null\n")
    assert home.files() == {}


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_guide_names_commands_that_exist(client: str) -> None:
    """A page of commands that are not there would be worse than none."""
    text = guide.GUIDES[client].read_text()
    verbs = set(re.findall(r"`homi ([a-z]+)", text))
    assert verbs <= set(MODULES)
    assert verbs
    assert len(text.splitlines()) <= 60
    for tool in claude.TOOLS:
        assert re.search(rf"^\| {tool} \|", text, re.MULTILINE)


def test_the_plugin_says_what_setup_writes(home: Home) -> None:
    """Its hooks and its server, by the name of the command instead of its path."""
    folder = Path(guide.__file__).parent / "agents" / "claude"
    home.setup("claude")
    hooks = json.loads((home.config / "settings.json").read_text())["hooks"]
    plain = json.dumps(hooks).replace(str(home.homi), "homi")
    assert (
        json.loads(plain)
        == json.loads((folder / "hooks" / "hooks.json").read_text())["hooks"]
    )
    servers = json.loads((folder / ".mcp.json").read_text())["mcpServers"]
    assert servers == {"homi": {"command": "homi", "args": ["mcp"]}}
    manifest = json.loads((folder / ".claude-plugin" / "plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("homi", __version__)
