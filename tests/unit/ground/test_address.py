"""Names and addresses: the grammar that every door shares."""

import pytest

from homi.address import (
    Address,
    fold,
    is_name,
    nearest,
    parse_address,
    parse_claimable,
    parse_name,
    show,
)
from homi.errors import Usage

GOOD = ["a", "gds-agent", "a.b_c-d", "0x", "a" * 64]
BAD = [
    "", ".", "..", "a..b", "a.", "-a", "_a", ".a", "a/b", "../a", "a b", "a\n",
    "A B", "а", "a\0", "a" * 65, "a@b", " a", "a ", "é", "con:", "-oProxyCommand=x",
]  # fmt: skip


@pytest.mark.parametrize("text", GOOD)
def test_a_name_by_the_grammar_is_one(text: str) -> None:
    """The positive side of the table below."""
    assert parse_name(text) == text


@pytest.mark.parametrize("text", BAD)
def test_what_breaks_the_grammar_is_refused_with_the_rule(text: str) -> None:
    """A name becomes a folder: nothing else may reach the file system."""
    assert not is_name(text)
    with pytest.raises(Usage) as caught:
        parse_name(text)
    assert "1 to 64" in caught.value.hint


def test_case_is_folded_for_looking_up() -> None:
    """On a disk that folds case A and a would share a mailbox."""
    assert parse_name("GDS-Agent") == "gds-agent"


def test_a_reserved_name_cannot_be_claimed_but_is_a_name() -> None:
    """owner is addressable, and nobody's to take."""
    assert parse_name("owner") == "owner"
    with pytest.raises(Usage, match="reserved"):
        parse_claimable("Owner")
    assert parse_claimable("ada") == "ada"


def test_an_address_has_a_device_or_not() -> None:
    """name@device; each part by the one grammar."""
    assert parse_address("ada") == Address("ada", None)
    assert parse_address("ada@mini") == Address("ada", "mini")
    assert str(parse_address("ada@mini")) == "ada@mini"
    for text in ("ada@", "@mini", "ada@mini@x", "ada@-o"):
        with pytest.raises(Usage):
            parse_address(text)


@pytest.mark.parametrize(
    ("session", "name"),
    [
        ("My Fancy Agent", "my-fancy-agent"),
        ("alpha", "alpha"),
        ("a/b (c)", "a-b-c"),
        ("ＡＢ", "ab"),
        ("..x..y..", "x.y"),
        ("日本", None),
        ("", None),
        ("x" * 80, "x" * 64),
    ],
)
def test_a_sessions_own_name_folds_into_the_grammar(
    session: str, name: str | None
) -> None:
    """Clients compare without case, blanks as hyphens."""
    assert fold(session) == name


def test_the_nearest_name_is_offered_only_when_it_is_near() -> None:
    """A wrong guess is worse than none."""
    assert nearest("gds-agnet", ["gds-agent", "ada"]) == "gds-agent"
    assert nearest("zebra", ["gds-agent", "ada"]) is None


def test_untrusted_text_is_shown_without_its_control_characters() -> None:
    """An error line must not clear the reader's screen."""
    assert show("a\x1b[2Jb") == "'a\\x1b[2Jb'"
    assert len(show("x" * 500)) < 100
