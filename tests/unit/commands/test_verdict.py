"""How an answer and a session are found in what a command said."""

import json

import pytest

from homi.commands.template import Source
from homi.commands.verdict import Done, judge, said
from tests.unit.commands.conftest import Begin, ended

EVENTS = "\n".join(
    [
        '{"type":"begun","id":"ses_1"}',
        '{"type":"text","part":{"text":"thinking"},"id":"ses_1"}',
        "no JSON at all",
        '{"type":"text","part":{"text":"done"},"id":"ses_1"}',
        '{"type":"end","cost":3}',
    ]
)

# What ends a line for Python ends none of JSON.
LINES = (
    '{"type":"text","t":"first"}\n{"type":"text","t":"the last\u2028one\x85of all"}\n'
)


@pytest.mark.parametrize(
    ("text", "source", "found"),
    [
        ("  yes \n", Source(), "yes"),
        ('{"response":"yes","n":[{"a/b":4}]}', Source(pointer="/response"), "yes"),
        ('{"n":[{"a/b":4}]}', Source(pointer="/n/0/a~1b"), "4"),
        ('{"n":[1]}', Source(pointer="/n/7"), ""),
        ('{"n":true}', Source(pointer="/n"), ""),
        ("[" * 100_000, Source(pointer="/n"), ""),
        ("broken", Source(pointer="/response"), ""),
        (EVENTS, Source(event="text", pointer="/part/text"), "done"),
        (EVENTS, Source(event="*", pointer="/id"), "ses_1"),
        (EVENTS, Source(event="none", pointer="/id"), ""),
        (LINES, Source(event="text", pointer="/t"), "the last\u2028one\x85of all"),
        ('{"a":"x \\ud800 y"}', Source(pointer="/a"), "x \ufffd y"),
    ],
)
def test_an_answer_is_found_where_the_template_says(
    begun: Begin, text: str, source: Source, found: str
) -> None:
    """And nowhere else: without one there is none."""
    run = ended(begun("cat", text))
    assert said(run, source) == found
    assert said(run, None) == ""


def test_an_answer_in_a_file_is_read_from_there(begun: Begin) -> None:
    """What is printed is something else then."""
    run = ended(begun("echo noise; echo yes >runs/00000001/answer # {out}"))
    assert said(run, Source(from_="file")) == "yes"


@pytest.mark.parametrize(
    ("told", "kept"), [("ses-1", "ses-1"), ("-rf", ""), ("a b", ""), ("", "")]
)
def test_a_session_that_could_be_taken_for_an_option_is_none(
    begun: Begin, told: str, kept: str
) -> None:
    """It will stand among the arguments of the next run."""
    text = json.dumps({"id": told})
    run = ended(begun("cat", text, session_from=Source(pointer="/id")))
    assert judge(run) == Done("", kept)


def test_an_answer_longer_than_a_letter_is_cut_and_says_where_the_whole_is(
    begun: Begin,
) -> None:
    """It would be refused for good otherwise."""
    run = ended(begun("cat", "a" * 1_100_000, answer=Source()))
    verdict = judge(run)
    assert isinstance(verdict, Done)
    assert len(verdict.answer) < 1_000_200
    assert run.folder in verdict.answer
