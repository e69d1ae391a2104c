"""The recorded screens of real clients."""

import json
from pathlib import Path
from typing import Any

from homi.seats.screen import Pane, Screen, read

FOLDER = Path(__file__).parents[2] / "screens"


def records() -> list[dict[str, Any]]:
    """Every capture with its label."""
    return [
        json.loads(line)
        for path in sorted(FOLDER.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").split("\n")
        if line
    ]


def screen_of(record: dict[str, Any]) -> Screen:
    """The capture as homi reads one."""
    width, height = map(int, record["size"].split("x"))
    column, row = map(int, record["cursor"].split(","))
    pane = Pane(
        client=record["client"],
        command=record["command"],
        title=record["title"],
        cursor=(column, row),
        width=width,
        height=height,
        dead=record["pane_dead"],
        alternate=record["alternate_screen"],
        copy_mode=record["copy_mode"],
    )
    return read(record["screen"], pane)
