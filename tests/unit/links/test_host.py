"""What a host may be, and how it is handed to ssh."""

import pytest

from homi.links.host import argv, parts, typed


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("mini", ("", "mini", 0)),
        ("me@mini", ("me", "mini", 0)),
        ("me@mini.example:2222", ("me", "mini.example", 2222)),
        ("a@b@mini", ("a@b", "mini", 0)),
        ("::1", ("", "::1", 0)),
        ("[::1]:22", ("", "::1", 22)),
        ("fe80::1", ("", "fe80::1", 0)),
    ],
)
def test_a_host_may_have_a_user_and_a_port(
    given: str, wanted: tuple[str, str, int]
) -> None:
    assert parts(given) == wanted


def test_ssh_is_told_of_a_port_as_it_wants_to_be() -> None:
    """It takes a colon for a part of the name."""
    assert argv("mini") == ["mini"]
    assert argv("me@mini") == ["me@mini"]
    assert argv("me@mini:2222") == ["-p", "2222", "me@mini"]
    assert argv("[fe80::1]:22") == ["-p", "22", "fe80::1"]
    assert typed("a b:22") == "-p 22 'a b'"
