"""homi setup in this process, in a home of its own."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from homi.cli.fast import guarded

OTHERS = '[{"matcher": "x", "hooks": [{"type": "command", "command": "theirs"}]}]'
JSON = {
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
    "permissions": '{"permissions": {"allow": ["Bash(ls)"], "deny": ["x"]}}\n',
    "no line feed, a mark": '\ufeff{"ü": "\\u00fc \u2028"}',
    "servers": '{"mcpServers": {"other": {"command": "x"}}, "oauth": 1}',
}


class Home:
    """A person's home with a client that has run, and a program called homi."""

    def __init__(
        self,
        path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Nothing set up."""
        self.path = path
        self.config = path / "config"
        self.config.mkdir()
        self.bin = path / "bin"
        self.homi = self.program("homi")
        self._capsys = capsys
        monkeypatch.setenv("HOME", str(path))
        monkeypatch.setenv("PATH", f"{self.bin}:/usr/bin:/bin")
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
            monkeypatch.delenv(name, raising=False)

    def program(self, name: str, text: str = "exit 0") -> Path:
        """An executable in the home's bin."""
        self.bin.mkdir(exist_ok=True)
        file = self.bin / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return file

    def setup(
        self, client: str, *more: str, homi: Path | None = None
    ) -> tuple[int, str, str]:
        """Status, stdout and stderr of `homi setup` with the folder config."""
        self._capsys.readouterr()
        status = guarded(["setup", client, *self.where(homi), *more])
        seen = self._capsys.readouterr()
        return status, seen.out, seen.err

    def where(self, homi: Path | None = None) -> list[str]:
        """The options that lead into this home."""
        return ["--config-dir", str(self.config), "--homi", str(homi or self.homi)]

    def states(self, client: str, *more: str) -> set[str]:
        """What became of the parts, with status 0 and nothing on stderr."""
        status, out, err = self.setup(client, *more)
        assert (status, err) == (0, "")
        return {line.split("\t")[0] for line in out.splitlines()}

    def files(self) -> dict[str, bytes]:
        """Every file below the folder, and what it holds."""
        return {
            str(path.relative_to(self.config)): path.read_bytes()
            for path in self.config.rglob("*")
            if path.is_file()
        }


def plain(text: str) -> Any:  # noqa: ANN401 - JSON
    """JSON without comments and trailing commas, as a lenient reader has it."""
    text = text.removeprefix("\ufeff")
    kept = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', r"\1", text, flags=re.S)
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", kept))


def all_there(given: bytes, after: bytes) -> bool:
    """Whether every byte of given stands in after, in order."""
    rest = iter(after)
    return all(byte in rest for byte in given)
