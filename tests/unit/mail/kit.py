"""Mailboxes written as a daemon would have left them."""

import json
from pathlib import Path
from typing import Any


def message(number: int) -> str:
    """The id of message number; its last part tells which it is."""
    return f"0199f3a2-61b4-7c7e-9d0e-aaaa{number:08}"


def stamp(minute: int) -> str:
    """A time of arrival."""
    return f"2025-11-30T{10 + minute // 60:02}:{minute % 60:02}:00.000Z"


def letter(
    number: int, sender: str, text: str, *, to: str = "ada", **msg: object
) -> dict[str, Any]:
    """An inbox line without its seq."""
    return {
        "at": stamp(number),
        "to": to,
        "via": {"door": "control", "uid": 1000, "pid": 7},
        "msg": {"id": message(number), "from": sender, "to": to, "text": text, **msg},
    }


class Root:
    """A state root."""

    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700)
        self.path = path

    def claim(self, *names: str) -> None:
        claims = {name: {"name": name} for name in names}
        (self.path / "names.json").write_text(json.dumps({"v": 1, "claims": claims}))

    def inbox(self, name: str, *letters: dict[str, Any]) -> None:
        """Append letters; the seq is that of the line."""
        path = self._folder(name) / "inbox.jsonl"
        seq = len(path.read_bytes().splitlines()) if path.exists() else 0
        with path.open("a") as file:
            for number, line in enumerate(letters, seq + 1):
                file.write(json.dumps({"v": 1, "seq": number, **line}) + "\n")

    def ledger(
        self, name: str, seq: int, number: int, rung: str, **more: object
    ) -> None:
        """Append what became of one."""
        path = self._folder(name) / "ledger.jsonl"
        n = len(path.read_bytes().splitlines()) + 1 if path.exists() else 1
        line = {"n": n, "seq": seq, "id": message(number), "rung": rung}
        with path.open("a") as file:
            file.write(json.dumps({"at": stamp(600 + n), **line, **more}) + "\n")

    def _folder(self, name: str) -> Path:
        folder = self.path / "mail" / name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder
