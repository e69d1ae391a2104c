"""The templates that come with homi, and those of a person's own.

Owns where they are; homi.commands.template says what they may hold.
"""

from pathlib import Path

import homi
from homi.address import show
from homi.commands.template import Template, parse
from homi.errors import NoInput

FILE = "command.toml"


def names() -> list[str]:
    """Every template that comes with homi."""
    return sorted(found.parent.name for found in _folder().glob(f"*/{FILE}"))


def load(given: str) -> tuple[str, Template]:
    """The template of that name, or in that file, and what it is called.

    NoInput (66) with a list where there is none; BadConfig (78) for a bad one.
    """
    if given in names():
        path, label = _folder() / given / FILE, given
    elif "/" in given or given.endswith(".toml"):
        path, label = Path(given).expanduser(), Path(given).stem
    else:
        raise NoInput(
            f"no template {show(given)}",
            hint=f"one of {', '.join(names())}, or a file: ./mine.toml",
        )
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise NoInput(f"cannot read {show(given)}: {why}") from error
    return label, parse(text, given)


def _folder() -> Path:
    return Path(homi.__file__).parent / "setup" / "agents"
