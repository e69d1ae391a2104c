"""A word as it is printed is the path, in a shell that knows no more than POSIX."""

import os
import subprocess

import pytest

from homi.shell import quoted


@pytest.mark.parametrize(
    "name",
    [
        b"/a/plain",
        b'/it\'s "odd" $HOME `id` \\1',
        b"/bad\xfe\xff.json",
        b"/a\nb\x1b[31m.json",
        b"/100%d\x07-\\n'q' \"x\" $(id) `id`",
        "/é\u202e\u2028x".encode(),
        b"/ends\n",
        "/größe".encode(),
    ],
)
def test_a_word_is_the_path_in_a_shell(name: bytes) -> None:
    """As sh reads it; a person sees all of it, but for line feeds at its end."""
    word = quoted(os.fsdecode(name))
    ran = subprocess.run(
        ["sh", "-c", f"printf %s {word}"], capture_output=True, check=True
    )
    assert ran.stdout == name
    assert word.isprintable() or name.endswith(b"\n")
