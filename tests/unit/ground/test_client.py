"""What a program is told of a message whose answer never came."""

from homi.client import not_known
from homi.dial import Lost
from homi.outgoing import Outgoing


def test_a_message_that_may_be_stored_is_named_by_what_finds_it_again() -> None:
    """Its key makes another id than it has here, which nobody would find."""
    plain = Outgoing("bob", "hello", "ada")
    found = not_known(plain, Lost("it went away"))
    assert plain.id in found.text
    assert f"homi trace {plain.id}" in found.hint
    keyed = Outgoing("bob", "hello", "ada", key="nightly")
    found = not_known(keyed, Lost("it went away"))
    assert keyed.id not in found.text + found.hint
    assert "key nightly" in found.text
