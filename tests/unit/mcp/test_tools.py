"""What the tools cost a conversation, what they take, and how a failure is told."""

import json
import re

import msgspec
import pytest

from homi.errors import NoInput, Usage
from homi.mcp import tools
from homi.mcp.post import behind
from homi.mcp.result import failed
from homi.mcp.server import BY_NAME, arguments, offered, thread_of
from homi.setup import claude

ID = "0190aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee"
WORST = {
    "send": {"to": "ada", "text": "x"},
    "ask": {"to": "ada", "text": "x"},
    "reply": {"id": ID, "text": "x"},
    "inbox": {},
    "read": {"id": ID},
    "ack": {"ids": [ID]},
    "wait": {},
    "who": {},
}


def test_all_of_them_together_take_less_than_two_thousand_tokens() -> None:
    """By bytes over four, as models count English and JSON, and by words and marks,
    which is more than any of them counts."""
    shown = [
        offered(one).model_dump(by_alias=True, exclude_none=True) for one in tools.TOOLS
    ]
    text = tools.INSTRUCTIONS + json.dumps(shown, separators=(",", ":"))
    assert len(tools.TOOLS) <= 8
    assert len(text.encode()) / 4 < 1_500
    assert len(re.findall(r"\w+|[^\w\s]", text)) < 2_000


def test_clients_run_them_unasked() -> None:
    """None destroys or reaches out; what reads only says so."""
    hints = {one.name: offered(one).annotations for one in tools.TOOLS}
    assert list(hints) == list(WORST)
    for name, hint in hints.items():
        assert hint is not None
        assert (hint.destructive_hint, hint.open_world_hint) == (False, False)
        assert hint.read_only_hint == (name in ("inbox", "who"))


@pytest.mark.parametrize("name", list(WORST))
def test_the_schema_shown_is_the_one_that_is_kept(name: str) -> None:
    """What it allows is taken, and nothing beside it: no other field, no null."""
    schema = BY_NAME[name].schema
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == set(WORST[name])
    given = WORST[name]
    assert isinstance(arguments(name, given), BY_NAME[name].takes)
    for field in schema["properties"]:
        with pytest.raises(Usage, match=f"^{name}:? (takes|needs|{field}|was given)"):
            arguments(name, {**given, field: None})
        with pytest.raises(Usage):
            arguments(name, {**given, field: {"$ref": "#"}})
    with pytest.raises(Usage, match="takes no 'sender'"):
        arguments(name, {**given, "sender": "bob"})
    for field in schema["required"]:
        with pytest.raises(Usage, match=f"needs {field}"):
            arguments(name, {k: v for k, v in given.items() if k != field})


def test_the_setup_of_clients_names_these_tools() -> None:
    """Another one would be asked about, each time."""
    assert tuple(BY_NAME) == claude.TOOLS


def test_a_tool_that_is_none_is_told_with_those_there_are() -> None:
    """Nothing that needs a right a session lacks is among them."""
    with pytest.raises(Usage, match="no tool 'release'") as caught:
        arguments("release", {})
    assert "send, ask, reply" in caught.value.hint


def test_where_a_wait_ended_is_read_back() -> None:
    """And nothing else is."""
    assert behind("ada:12,b-1:3") == {"ada": 12, "b-1": 3}
    assert behind("") == {}
    for wrong in ("ada", "ada:", "ada:x", "ada:" + "9" * 19):
        with pytest.raises(Usage, match="not where a wait ended"):
            behind(wrong)


def test_only_a_text_names_a_conversation() -> None:
    """Whatever else a client sends there."""
    assert thread_of({"threadId": "0193", "progressToken": 1}) == "0193"
    for meta in (None, {}, {"threadId": ""}, {"threadId": 5}, [], "threadId"):
        assert thread_of(meta) is None


def test_a_failure_hides_nothing() -> None:
    """In the form of the house."""
    assert failed(NoInput("no \x1b[2J", hint="x\ny")) == (
        "homi: no \\x1b[2J\nhomi: hint: x\\ny"
    )
    assert failed(NoInput("no")) == "homi: no"


def test_every_argument_of_a_call_stands_in_its_schema() -> None:
    """Codex and Claude both send what the schema names."""
    for tool in tools.TOOLS:
        fields = set(tool.takes.__struct_fields__)
        assert fields == set(tool.schema["properties"])
        assert msgspec.json.encode(tool.schema)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("send", {"to": "a", "text": "x", "from": "y"}, "send takes no 'from'"),
        ("send", {"to": "a"}, "send needs text"),
        ("inbox", {"limit": 0}, "inbox: limit must be a whole number of 1 to 100"),
        ("ask", WORST["ask"] | {"human": "y"}, "ask: human must be true or false"),
        ("ack", {"ids": []}, "ack: ids must be a list of 1 to 100 entries, each a "),
    ],
)
def test_what_is_not_taken_is_said_in_words_of_the_schema(
    name: str, given: dict[str, object], said: str
) -> None:
    """The field, and what it may be."""
    with pytest.raises(Usage) as caught:
        arguments(name, given)
    assert caught.value.text.startswith(said)
    assert "`" not in caught.value.text
