"""What was meant by a word that is no verb: by meaning before spelling."""

from collections.abc import Iterator

import click
import pytest

from homi.cli import main, meant
from homi.errors import Usage

CONTEXT = click.Context(main.homi)


def command(path: str) -> click.Command | None:
    """The command of these words, None where there is none."""
    found: click.Command | None = main.homi
    for word in path.split():
        if not isinstance(found, click.Group) or word.startswith("-"):
            return found
        found = found.get_command(CONTEXT, word)
    return found


def families() -> Iterator[tuple[str, meant.Family]]:
    for name in main.MODULES:
        found = command(name)
        if isinstance(found, meant.Family):
            yield name, found


def hint(family: meant.Family, name: str, word: str) -> str:
    context = click.Context(family, info_name=f"homi {name}")
    with pytest.raises(Usage) as caught:
        family.resolve_command(context, [word])
    return str(caught.value.hint)


def test_every_word_of_the_table_leads_to_a_command_that_is_there() -> None:
    for words, said in meant.TOP.items():
        for one in said.split(", "):
            assert one == "help" or command(one) is not None, (words, one)
    assert command("queue frobnicate") is None


def test_no_word_of_the_table_is_a_verb_or_stands_there_twice() -> None:
    words = [word for words in meant.TOP for word in words.split()]
    assert len(words) == len(set(words))
    assert not set(words) & {*main.MODULES, "help"}


def test_meaning_comes_before_spelling() -> None:
    assert meant.verb("man", main.MODULES) == "help"  # not fan
    assert meant.verb("list", main.MODULES) == "ls"
    assert meant.verb("LOGS", main.MODULES) == "log"


def test_a_misspelled_word_means_what_the_word_does() -> None:
    assert meant.verb("mial", main.MODULES) == "inbox"  # mail
    assert meant.verb("stauts", main.MODULES) == "status"
    assert (
        meant.verb("remov", main.MODULES)
        == meant.TOP["delete del rm remove end forget"]
    )
    assert meant.verb("hlep", main.MODULES) == "help"
    assert meant.verb("xyzzy", main.MODULES) == ""


def test_below_a_verb_what_ends_is_never_taken_for_what_goes_on() -> None:
    said = {name: hint(family, name, "remove") for name, family in families()}
    ends = {
        "alias": "rm",
        "room": "rm",
        "wake": "rm",
        "codex": "unpeer",
        "command": "unbind",
        "seat": "kill",
        "link": "rm",
        "quarantine": "drop",
    }
    for name, end in ends.items():
        assert said[name] == f"did you mean homi {name} {end}?"
    assert said["bundle"] == "homi bundle --help"


def test_every_family_with_a_list_shows_it_for_list() -> None:
    for name, family in families():
        if "ls" in family.commands:
            assert hint(family, name, "list") == f"did you mean homi {name} ls?"


def test_ten_thousand_wrong_letters_are_not_all_said_again() -> None:
    """The line that says what is wrong must still be found."""
    with pytest.raises(Usage) as caught:
        main.run(["setup", "k" * 10_240])
    assert caught.value.text.startswith("invalid value for 'CLIENT': 'kkk")
    assert len(caught.value.text) <= main.LONGEST + 1
