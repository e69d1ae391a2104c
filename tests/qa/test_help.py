"""Each verb's help: examples first, and each of them a command line that is one."""

import shlex
from collections.abc import Iterator

import click
import pytest

from homi.cli import main

ENDS = {"|", ">", "<", ";", "&&", "2"}  # behind these stands no more of the command


def commands(
    group: click.Group, ctx: click.Context, before: str = ""
) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with the words it is called by."""
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        words = f"{before}{name}"
        if isinstance(command, click.Group):
            yield from commands(command, ctx, f"{words} ")
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield words, command


EVERY = dict(commands(main.homi, click.Context(main.homi)))


def examples(text: str) -> list[list[str]]:
    """The arguments of each example in a help text."""
    found = []
    for line in text.splitlines():
        _, sign, rest = line.strip().partition("$ ")
        if not sign or "$(" in line:
            continue
        lexer = shlex.shlex(rest, posix=True, punctuation_chars=True)
        lexer.wordchars += "@+:"
        words = list(lexer)
        while words and "homi" in words:
            words = words[words.index("homi") + 1 :]
            ends = [at for at, word in enumerate(words) if word in ENDS]
            end = min(ends, default=len(words))
            found.append(words[:end])
            words = words[end:]
    return found


def parse(args: list[str]) -> None:
    """Read args as the command line does, and do nothing."""
    with main.homi.make_context("homi", list(args)) as ctx:
        command: click.Command = main.homi
        rest = [*ctx._protected_args, *ctx.args]
        while isinstance(command, click.Group) and rest:
            name, found, rest = command.resolve_command(ctx, rest)
            assert found is not None
            command = found
            ctx = command.make_context(name, rest, parent=ctx)
            rest = [*ctx._protected_args, *ctx.args]


@pytest.mark.parametrize("words", list(EVERY))
def test_the_help_of_a_verb_shows_an_example_before_its_options(words: str) -> None:
    """Most who ask for help want to see one."""
    command = EVERY[words]
    text = command.get_help(click.Context(command, info_name=words))
    shown, _, _ = text.partition("Options:")
    assert f"homi {words}" in shown.partition("\n\n")[2], text


@pytest.mark.parametrize("group", [(), *{tuple(w.split()[:-1]) for w in EVERY} - {()}])
def test_no_summary_in_a_list_of_verbs_is_cut(group: tuple[str, ...]) -> None:
    """Where eighty columns are too few for it, its end would say nothing."""
    ctx, command = click.Context(main.homi, info_name="homi"), main.homi
    for word in group:
        found = command.get_command(ctx, word)
        assert isinstance(found, click.Group)
        command = found
    text = command.get_help(click.Context(command, terminal_width=80))
    assert "..." not in text.partition("Commands:")[2], text


@pytest.mark.parametrize("words", list(EVERY))
def test_each_example_is_a_command_line_that_is_understood(words: str) -> None:
    """Who copies one must not be told that there is no such option."""
    text = EVERY[words].help or ""
    for args in examples(text):
        parse(args)


def test_an_example_that_is_none_would_be_found() -> None:
    """The control of the test above."""
    assert examples("  $ homi ls --nonsense | head") == [["ls", "--nonsense"]]
    with pytest.raises(click.NoSuchOption):
        parse(["ls", "--nonsense"])
