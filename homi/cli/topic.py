"""`help TOPIC`: a page of the manual, wherever it was installed.  homi(1).

Owns where pages are looked for, and who shows one.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from homi.cli import mdoc, output


def topics() -> dict[str, Path]:
    """Every page by the word a person has for it: legs, homi-legs, homi.toml."""
    found: dict[str, Path] = {}
    for path in sorted(_pages(), reverse=True):
        name = path.name[:-2]
        for word in (name, name.removeprefix("homi-"), name.removeprefix("homi.")):
            found[word] = path
    return found


def show(path: Path) -> None:
    """The page: by man for a person, else as plain text."""
    man = shutil.which("man") if output.terminal() else None
    # A path with a slash is a page itself, not the name of one.
    if man and subprocess.run([man, str(path)], check=False).returncode == 0:
        return
    output.raw(mdoc.plain(path.read_text("utf-8")).encode("utf-8", "replace"))


def _pages() -> Iterator[Path]:
    """The pages of this homi, not those of another one that is installed too."""
    for folder in _folders():
        found = list(folder.glob("man[1-8]/homi*.[1-8]"))
        found += folder.glob("homi*.[1-8]")
        if found:
            yield from found
            return


def _folders() -> list[Path]:
    """Where they may be: in the source tree, beside the package, in its environment."""
    tree = Path(__file__).parents[2]
    return [
        tree / "man",
        tree / "share" / "man",
        tree.parent.parent / "share" / "man",
        Path(sys.prefix) / "share" / "man",
        Path(os.path.expanduser("~/.local/share/man")),
    ]
