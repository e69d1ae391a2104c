"""A program that is run to its end: what it says, or why it does not."""

import pytest

from homi import child
from homi.errors import Unavailable


def test_what_it_is_given_and_how_it_ended_come_back() -> None:
    """Bytes that are no text are no failure."""
    script = "cat; printf '\\377' >&2; exit 3"
    said = child.run(["sh", "-c", script], patience=60, given="words\n")
    assert said == (3, "words\n", "\ufffd")


def test_what_cannot_be_run_is_named_without_its_folder() -> None:
    with pytest.raises(Unavailable, match=r"^cannot run nonesuch: No such file"):
        child.run(["/nowhere/nonesuch"], patience=60)


def test_what_does_not_end_is_ended() -> None:
    """Who waits is a person, or a thread of the daemon."""
    with pytest.raises(Unavailable, match=r"^sleep did not end within 0\.1 s"):
        child.run(["sleep", "600"], patience=0.1)
