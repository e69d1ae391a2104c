"""contrib/agents/claude/install: others' bytes stay, and everything can be undone."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from homi.cli.main import MODULES

AGENT = Path(__file__).resolve().parents[2] / "contrib" / "agents" / "claude"
OTHERS = '[{"matcher": "x", "hooks": [{"type": "command", "command": "theirs"}]}]'
SETTINGS = {
    "empty": "{}",
    "plain": '{\n  "model": "opus"\n}\n',
    "one line": '{"model":"opus","a":[1,2,],}',
    "comments": '// mine\n{\n  /* { "hooks": */ "model": "a // b", // c\n}\n// end',
    "only a comment": "{ // nothing yet\n}\n",
    "CRLF and tabs": '{\r\n\t"model": "opus",\r\n\t"x": {"y": [ ] }\r\n}\r\n',
    "odd indentation": '{\n     "a" :1\n   ,"b":\n2}\n\n\n',
    "other hooks": f'{{\n  "hooks": {{\n    "Stop": {OTHERS},\n  }}\n}}\n',
    "an empty event": '{"hooks": {"Stop": [ ], "PreToolUse": []}}\n',
    "every event": f'{{"hooks":{{"Stop":{OTHERS},"SessionStart":{OTHERS},'
    f'"UserPromptSubmit":{OTHERS}}}}}',
    "no line feed, a mark": '\ufeff{"ü": "\\u00fc"}',
}


def install(config: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the installer as a user does."""
    return subprocess.run(
        [sys.executable, AGENT / "install", "--config-dir", config, *more],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": str(config)},
    )


def plain(text: str) -> dict[str, dict[str, list[object]]]:
    """The settings without comments and trailing commas, as a lenient reader has it."""
    text = text.removeprefix("\ufeff")
    kept = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', r"\1", text, flags=re.S)
    found = json.loads(re.sub(r",(\s*[}\]])", r"\1", kept))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("given", SETTINGS.values(), ids=SETTINGS)
def test_hooks_go_in_once_and_come_out_without_a_trace(
    tmp_path: Path, given: str
) -> None:
    """What was there stands there, in order; twice is once; out is byte for byte."""
    settings = tmp_path / "settings.json"
    settings.write_bytes(given.encode())
    settings.chmod(0o640)
    first = install(tmp_path, "--homi", "/opt/homi")
    assert (first.returncode, first.stderr) == (0, "")
    after = settings.read_bytes()
    rest = iter(after)
    assert all(byte in rest for byte in given.encode()), "bytes of others are gone"
    hooks = plain(after.decode())["hooks"]
    for event, word in (("SessionStart", "session-start"), ("Stop", "stop")):
        commands = json.dumps(hooks[event])
        assert commands.count(f'"/opt/homi hook {word}"') == 1
        assert commands.count("theirs") == given.count(f'"{event}":{OTHERS}') + (
            given.count(f'"{event}": {OTHERS}')
        )
    assert "/opt/homi hook prompt" in json.dumps(hooks["UserPromptSubmit"])
    assert ("\r\n" in given) == (b"\r\n" in after)
    assert after.replace(b"\r\n", b"").count(b"\n") == 0 or "\r\n" not in given
    assert settings.stat().st_mode & 0o777 == 0o640
    second = install(tmp_path)
    assert (second.returncode, second.stdout) == (0, "already installed\n")
    assert settings.read_bytes() == after
    assert install(tmp_path, "--uninstall").returncode == 0
    assert settings.read_bytes() == given.encode()
    assert os.listdir(tmp_path) == ["settings.json"]


def test_without_settings_a_file_is_made_and_taken_away_again(tmp_path: Path) -> None:
    """Nothing stays of an uninstalled homi, not even the skill's folder."""
    config = tmp_path / "new"
    assert install(config).returncode == 0
    hooks = json.loads((config / "settings.json").read_text())["hooks"]
    snippet = json.loads((AGENT / "hooks.json").read_text())["hooks"]
    shown = json.dumps(hooks)
    for event, entry in snippet.items():
        word = entry[0]["hooks"][0]["command"].partition("homi")[2]
        assert word in json.dumps(hooks[event]), shown
    skill = config / "skills" / "homi" / "SKILL.md"
    assert skill.read_bytes() == (AGENT / "SKILL.md").read_bytes()
    assert install(config, "--uninstall").returncode == 0
    assert os.listdir(config) == []


def test_what_a_person_changed_since_stays(tmp_path: Path) -> None:
    """Only our own bytes go; an edited skill is not ours any more."""
    settings = tmp_path / "settings.json"
    settings.write_text('{\n  "model": "opus"\n}\n')
    install(tmp_path)
    settings.write_text(settings.read_text().replace('"opus"', '"haiku", "b": 1'))
    skill = tmp_path / "skills" / "homi" / "SKILL.md"
    skill.write_text("mine")
    done = install(tmp_path, "--uninstall")
    assert done.returncode == 0
    assert settings.read_text() == '{\n  "model": "haiku", "b": 1\n}\n'
    assert skill.read_text() == "mine"
    assert "left as it is" in done.stderr
    # The file as it was before is kept, since it is not what stands there now.
    backup = tmp_path / "settings.json.before-homi"
    assert backup.read_text() == '{\n  "model": "opus"\n}\n'


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"[]",
        b'{"hooks": []}',
        b'{"hooks": {"Stop": {}}}',
        b'{"a": 1, "a": 2}',
        b'{"a": 1 "b": 2}',
        b'{"a": \xff}',
        b'{"a": tru}',
        b"{} {}",
        b'{"a": "\n"}',
        b"[" * 100_000,
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_left_alone(
    tmp_path: Path, given: bytes
) -> None:
    """One clear line, 65, and what to paste; nothing else is touched."""
    settings = tmp_path / "settings.json"
    settings.write_bytes(given)
    done = install(tmp_path)
    assert done.returncode == 65
    assert re.fullmatch(r"homi: .* is left alone: .*\nhomi: hint: .*\n", done.stderr)
    assert set(json.loads(done.stdout)["hooks"]) == {
        *("SessionStart", "UserPromptSubmit", "Stop")
    }
    assert settings.read_bytes() == given
    assert os.listdir(tmp_path) == ["settings.json"]


def test_hooks_that_were_edited_are_not_guessed_at(tmp_path: Path) -> None:
    """A person who changed them takes them out."""
    settings = tmp_path / "settings.json"
    install(tmp_path, "--homi", "homi")
    edited = settings.read_text().replace('"timeout": 5', '"timeout": 7')
    settings.write_text(edited)
    done = install(tmp_path, "--uninstall")
    assert done.returncode == 65
    assert settings.read_text() == edited


@pytest.mark.parametrize("what", [".", "settings.json", "skills", "skills/homi"])
def test_a_link_that_leads_nowhere_is_named_and_nothing_is_left_behind(
    tmp_path: Path, what: str
) -> None:
    """No record, backup or skill of an installation that did not happen."""
    config, nowhere = tmp_path / "config", tmp_path / "nowhere" / "there"
    link = config if what == "." else config / what
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(nowhere)
    before = sorted(tmp_path.rglob("*"))
    done = install(config)
    assert (done.returncode, done.stdout) == (73, "")
    assert f"homi: {link} is a link to {nowhere}, which is not there" in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Settings often live in a repository."""
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    config = tmp_path / "config"
    config.mkdir()
    (config / "settings.json").symlink_to(real)
    assert install(config).returncode == 0
    assert (config / "settings.json").is_symlink()
    assert "homi" in real.read_text() or shutil.which("homi") is None
    assert install(config, "--uninstall").returncode == 0
    assert real.read_text() == "{}\n"


def test_the_skill_names_commands_that_exist() -> None:
    """A page of commands that are not there would be worse than none."""
    text = (AGENT / "SKILL.md").read_text()
    verbs = set(re.findall(r"`homi ([a-z]+)", text))
    assert verbs <= set(MODULES)
    assert len(verbs) >= 9
    assert len(text.splitlines()) <= 60
