"""What of homi stands in a client's files now, whoever wrote it there.

Owns the finding of its entries and of the programs that they name; changes nothing.
homi-setup(1).
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from homi.setup.installation import editors
from homi.setup.jsonc import Unsafe


class Entry(NamedTuple):
    """One entry that calls homi."""

    part: str
    file: Path
    program: str

    @property
    def runs(self) -> bool:
        """Whether that program is there."""
        return shutil.which(self.program) is not None


def entries(client: str, config: Path) -> Iterator[Entry]:
    """Every entry of homi's in the files of a client with that folder; none of a file
    that cannot be read."""
    for editor in editors(client, config, ["homi"]):
        try:
            text = Path(os.path.realpath(editor.path)).read_text("utf-8")
            called = editor.calls(text)
        except (OSError, UnicodeDecodeError, Unsafe):
            continue
        for part, words in called:
            yield Entry(part, editor.path, words[0])
