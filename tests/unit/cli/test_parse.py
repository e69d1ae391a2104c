"""The fast parser and click must never understand one command line differently."""

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homi.cli import fast, main
from homi.cli.submission import WAIT_DEFAULT, Plan

VOCABULARY = (
    "--from --from=bob bob ada --json --json=x -f -fletter --file --file=x - -- --key k"
    " --key= --wait-for seen stored --wait-for=seen read --timeout 5 0.5 -1 --timeout=7"
    " --reply-to 7c10 --help -h --home /x --nonsense --jso -x text send"
)
WORDS = st.sampled_from(["", *VOCABULARY.split()])


def by_click(args: list[str]) -> Plan | None:
    """What click makes of args; None where it refuses or only shows help."""
    try:
        with main.homi.make_context("homi", list(args)) as top:
            name, command, rest = main.homi.resolve_command(
                top, [*top._protected_args, *top.args]
            )
            if name != "send" or command is None:
                return None
            with command.make_context(name, rest, parent=top) as ctx:
                return _plan(top.params["home"], dict(ctx.params))
    except (click.exceptions.Exit, click.UsageError):
        return None


def _plan(home: str, params: dict[str, object]) -> Plan | None:
    if params["text"] is not None and params["file"]:
        return None
    plan = Plan(home, str(params.pop("to")), params.pop("text"))  # type: ignore[arg-type]
    for field, value in params.items():
        if value is not None:
            setattr(plan, field, value)
    return plan


def facts(plan: Plan) -> dict[str, object]:
    """All of a plan but its id."""
    return {name: getattr(plan, name) for name in Plan.__slots__ if name != "id"}


@given(st.lists(WORDS, max_size=7))
def test_what_the_fast_parser_takes_click_takes_alike(words: list[str]) -> None:
    """Whichever parser is asked, the same is sent; what only click knows goes there."""
    found = fast.parse(["send", *words])
    if found is not None:
        other = by_click(["send", *words])
        assert other is not None, words
        assert facts(found) == facts(other)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["send", "ada", "hi"], {"to": "ada", "text": "hi"}),
        (["send", "ada"], {"to": "ada", "text": None}),
        (["--home", "/x", "send", "ada", "-"], {"home": "/x", "text": "-"}),
        (["--home=/x", "send", "ada", "hi"], {"home": "/x"}),
        (["send", "ada", "--json", "hi"], {"as_json": True, "text": "hi"}),
        (["send", "-f", "a", "ada"], {"file": "a", "text": None}),
        (["send", "-fa", "ada"], {"file": "a"}),
        (["send", "--from=bob", "ada", "hi"], {"sender": "bob"}),
        (["send", "ada", "--", "--json"], {"text": "--json", "as_json": False}),
        (["send", "ada", "x", "--timeout", "5"], {"timeout": 5.0}),
        (["send", "ada", "x"], {"timeout": WAIT_DEFAULT}),
        (["send", "ada", "x", "--wait-for", "seen"], {"wait_for": "seen"}),
    ],
)
def test_the_plain_case_is_taken(args: list[str], expected: dict[str, object]) -> None:
    """These are what agents write; each must be quick."""
    plan = fast.parse(args)
    assert plan is not None
    assert facts(plan).items() >= expected.items()


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["inbox"],
        ["send"],
        ["send", "--help"],
        ["send", "ada", "hi", "-h"],
        ["send", "ada", "hi", "--nonsense"],
        ["send", "ada", "hi", "more"],
        ["send", "ada", "hi", "--from"],
        ["send", "ada", "hi", "-f", "x"],
        ["send", "ada", "hi", "--wait-for", "read"],
        ["send", "ada", "hi", "--wait-for="],
        ["send", "ada", "hi", "--timeout", "soon"],
        ["send", "ada", "hi", "--timeout", "9" * 20],
        ["--home", "", "send", "ada", "hi"],
        ["--version"],
    ],
)
def test_all_else_is_left_to_click(args: list[str]) -> None:
    """The fast parser explains nothing and guesses nothing."""
    assert fast.parse(args) is None


@pytest.mark.parametrize("name", sorted(main.MODULES))
def test_help_fits_a_terminal_and_shows_an_example_before_the_options(
    name: str,
) -> None:
    """Who asks for help wants to see it done; a line that was cut says nothing."""
    context = click.Context(main.homi, info_name="homi", terminal_width=78)
    command = main.homi.get_command(context, name)
    assert command is not None
    help_text = command.get_help(click.Context(command, context, name))
    before = help_text.partition("\nOptions:")[0]
    assert "homi" in before.partition("\n\n")[2], before
    assert max(map(len, help_text.splitlines())) <= 80
    assert "..." not in main.homi.get_help(context).partition("Commands:")[2]
