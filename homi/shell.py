"""A path as it is typed in a shell, whatever bytes it has.

Owns the quoting in the commands that homi prints for a person; runs nothing.
homi-doctor(1) prints most of them.
"""

import os
import shlex


def quoted(path: str | os.PathLike[str]) -> str:
    """One word of any POSIX shell that is this path.  What cannot be seen or is no
    UTF-8 is written out, so that it comes through a terminal as it is."""
    text = os.fspath(path)
    # An expansion loses the line feeds at its end: these stand there themselves.
    if text.isprintable() or text.endswith("\n"):
        return shlex.quote(text)
    written = "".join(map(_octal, os.fsencode(text)))
    return f"\"$(printf '{written}')\""


def _octal(byte: int) -> str:
    """A byte in the format of printf."""
    char = chr(byte)
    plain = byte < 0x7F and char.isprintable() and char not in "-\\'%"
    return char if plain else f"\\{byte:03o}"
