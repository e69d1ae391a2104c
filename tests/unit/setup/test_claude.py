"""homi in the files of Claude Code: put in once, known again, taken out."""

import json
from pathlib import Path

import pytest

from homi.cli.fast import guarded
from homi.mcp import tools
from homi.setup import claude
from tests.unit.setup.kit import JSON, OTHERS, Home, all_there, plain

WORDS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "Stop": "stop",
}


@pytest.mark.parametrize("given", JSON.values(), ids=JSON)
def test_homi_goes_in_once_and_comes_out_without_a_trace(
    home: Home, given: str
) -> None:
    """What was there stands there, in order; twice is once; out is byte for byte."""
    for name in ("settings.json", ".claude.json"):
        (home.config / name).write_bytes(given.encode())
        (home.config / name).chmod(0o640)
    before = home.files()
    assert home.states("claude") == {"added"}
    after = home.files()
    for name in before:
        assert all_there(before[name], after[name])
        assert (b"\r\n" in after[name]) == (b"\r\n" in before[name])
        assert b"\n" not in after[name].replace(b"\r\n", b"") or "\r\n" not in given
        assert (home.config / name).stat().st_mode & 0o777 == 0o640
    settings = plain(after["settings.json"].decode())
    for event, word in WORDS.items():
        commands = json.dumps(settings["hooks"][event])
        assert commands.count(f'"{home.homi} hook {word}"') == 1
        assert commands.count("theirs") == ("theirs" in given and event in given)
    assert "mcp__homi__send" in settings["permissions"]["allow"]
    server = plain(after[".claude.json"].decode())["mcpServers"]["homi"]
    assert (server["command"], server["args"]) == (str(home.homi), ["mcp"])
    assert home.states("claude") == {"already"}
    assert home.files() == after
    assert home.states("claude", "--remove") == {"removed"}
    assert home.files() == before
    assert home.states("claude", "--remove") == {"not there"}
    assert home.files() == before


def test_without_any_file_all_are_made_and_taken_away_again(home: Home) -> None:
    """Not even an empty folder stays."""
    assert home.states("claude") == {"added"}
    assert set(home.files()) == {
        *("settings.json", ".claude.json", "skills/homi/SKILL.md"),
        "homi-setup.json",
    }
    assert (home.config / "settings.json").stat().st_mode & 0o777 == 0o600
    assert home.states("claude", "--remove") == {"removed"}
    assert list(home.config.iterdir()) == []


def test_no_folder_but_its_own_is_removed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one that is called as something in a file is, where the command runs."""
    work = home.path / "work"
    for name in ("hooks", "permissions", "mcpServers"):
        (work / name).mkdir(parents=True)
    monkeypatch.chdir(work)
    home.setup("claude")
    assert home.states("claude", "--remove") == {"removed"}
    assert len(list(work.iterdir())) == 3


def test_what_a_person_changed_since_stays(home: Home) -> None:
    """Only ours goes; what the file was before is told, an edited guide is theirs."""
    settings = home.config / "settings.json"
    settings.write_text('{\n  "model": "opus"\n}\n')
    home.setup("claude")
    settings.write_text(settings.read_text().replace('"opus"', '"haiku", "b": 1'))
    guide = home.config / "skills" / "homi" / "SKILL.md"
    guide.write_text("mine")
    status, out, err = home.setup("claude", "--remove")
    assert status == 0
    assert settings.read_text() == '{\n  "model": "haiku", "b": 1\n}\n'
    backup = home.config / "settings.json.before-homi"
    assert backup.read_text() == '{\n  "model": "opus"\n}\n'
    assert str(backup) in err
    assert guide.read_text() == "mine"
    assert f"kept\tguide\t{guide}" in out


def test_a_client_that_wrote_its_files_anew_hides_nothing(home: Home) -> None:
    """It writes its own form of JSON, with its own order and without remarks."""
    for name in ("settings.json", ".claude.json"):
        (home.config / name).write_text('{"a": 1}')
    home.setup("claude")
    for name in ("settings.json", ".claude.json"):
        found = plain((home.config / name).read_text())
        found = dict(sorted(found.items())) | {"more": [1]}
        (home.config / name).write_text(json.dumps(found, indent=4))
    assert home.states("claude") == {"already"}
    assert home.setup("claude", "--remove")[0] == 0
    for name in ("settings.json", ".claude.json"):
        assert plain((home.config / name).read_text()) == {"a": 1, "more": [1]}


def test_hooks_in_the_group_of_another_leave_the_other(home: Home) -> None:
    """A person may have put them together."""
    home.setup("claude")
    settings = home.config / "settings.json"
    found = json.loads(settings.read_text())
    theirs = {"type": "command", "command": "theirs homi hook stop.log"}
    found["hooks"]["Stop"][0]["hooks"].insert(0, theirs)
    settings.write_text(json.dumps(found))
    home.setup("claude", "--remove")
    assert json.loads(settings.read_text())["hooks"] == {"Stop": [{"hooks": [theirs]}]}


def test_a_homi_that_moved_is_called_where_it_is_now(home: Home) -> None:
    """Only the command changes, also when others stand beside it."""
    (home.config / "settings.json").write_text(f'{{"hooks": {{"Stop": {OTHERS}}}}}')
    home.setup("claude")
    before = home.files()
    new = home.path / "a b" / "homi"
    new.parent.mkdir()
    home.homi.rename(new)
    status, out, _ = home.setup("claude", homi=new)
    assert (status, out.count("updated\t")) == (0, 2)
    commands = json.loads((home.config / "settings.json").read_text())["hooks"]
    assert f"'{new}' hook stop" in json.dumps(commands)
    assert str(home.homi) not in json.dumps(commands)
    server = json.loads((home.config / ".claude.json").read_text())
    assert server["mcpServers"]["homi"]["command"] == str(new)
    assert set(home.files()) == set(before)
    home.setup("claude", "--remove", homi=new)
    assert home.files() == {
        "settings.json": f'{{"hooks": {{"Stop": {OTHERS}}}}}'.encode()
    }


def test_leave_that_a_person_took_back_is_not_given_again(home: Home) -> None:
    """Nor is leave of a person's own taken: it was there before."""
    settings = home.config / "settings.json"
    settings.write_text('{"permissions": {"allow": ["mcp__homi__who"]}}')
    home.setup("claude")
    text = settings.read_text()
    assert text.count("mcp__homi__who") == 1
    found = json.loads(text)
    found["permissions"]["allow"].remove("mcp__homi__send")
    settings.write_text(json.dumps(found))
    assert home.states("claude") == {"already"}
    assert "mcp__homi__send" not in settings.read_text()
    home.setup("claude", "--remove")
    assert json.loads(settings.read_text()) == {
        "permissions": {"allow": ["mcp__homi__who"]}
    }


def test_leave_is_given_for_every_tool_there_is_and_no_other() -> None:
    """A tool that was forgotten would be asked for at night."""
    assert set(claude.TOOLS) == {tool.name for tool in tools.TOOLS}


def test_a_server_of_that_name_that_is_no_homi_is_left_alone(home: Home) -> None:
    """The other files are done; that one is told, with what to paste."""
    file = home.config / ".claude.json"
    theirs = '{"mcpServers": {"homi": {"command": "/x/homie", "args": ["mcp"]}}}'
    file.write_text(theirs)
    status, out, err = home.setup("claude")
    assert status == 65
    assert f"homi: {file}: it is left alone: its server homi is another program" in err
    assert '"mcpServers"' in out
    assert "added\thooks" in out
    assert file.read_text() == theirs
    assert home.setup("claude", "--remove")[0] == 0
    assert home.files() == {".claude.json": theirs.encode()}


def test_a_session_that_writes_its_state_is_waited_for(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its own lock; one that does not end is told, and its lock stays."""
    lock = home.config / ".claude.json.lock"
    lock.mkdir()
    monkeypatch.setattr("homi.setup.place.PATIENCE", 0.0)
    status, out, err = home.setup("claude")
    assert status == 75
    assert f"a session writes {home.config / '.claude.json'}" in err
    assert "added\thooks" in out
    assert lock.is_dir()
    lock.rmdir()
    assert home.states("claude") == {"already", "added"}
    assert not lock.exists()


@pytest.mark.parametrize(
    ("variable", "option", "file"),
    [
        ("", "", ".claude.json"),
        ("", "usual", ".claude.json"),
        ("", "other", "other/.claude.json"),
        ("other", "", "other/.claude.json"),
        ("usual", "", ".claude/.claude.json"),
    ],
)
def test_servers_stand_where_that_client_reads_them(
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    option: str,
    file: str,
) -> None:
    """Beside the usual folder, but in any that the client was told of."""
    places = {"usual": home.path / ".claude", "other": home.path / "other"}
    for place in places.values():
        place.mkdir()
    if variable:
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(places[variable]))
    where = ["--config-dir", str(places[option])] if option else []
    home.setup("claude", *(where or ["--config-dir", ""]))
    assert sorted(path.name for path in home.path.rglob(".claude.json")) == [
        ".claude.json"
    ]
    assert (home.path / file).is_file()


def test_the_state_root_that_was_asked_for_is_in_every_command(
    home: Home, tmp_path: Path
) -> None:
    """Hooks and tools must not go to another daemon than the commands do."""
    root = str(tmp_path / "root dir")
    where = ["--config-dir", str(home.config), "--homi", str(home.homi)]
    assert guarded(["--home", root, "setup", "claude", *where]) == 0
    text = (home.config / "settings.json").read_text()
    assert f"{home.homi} --home '{root}' hook stop" in text
    server = json.loads((home.config / ".claude.json").read_text())
    assert server["mcpServers"]["homi"]["args"] == ["--home", root, "mcp"]
    assert home.states("claude", "--remove") == {"removed"}
