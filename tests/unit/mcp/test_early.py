"""What is answered before the library is loaded is what the library would say."""

import json

import pytest
from mcp_types import ListToolsResult

from homi.mcp.early import KNOWN, Early, listed
from homi.mcp.server import offered
from homi.mcp.tools import TOOLS

CLIENT = {"name": "x", "version": "1"}


def line(method: str, number: object = 1, **params: object) -> bytes:
    asked = {"jsonrpc": "2.0", "id": number, "method": method}
    return json.dumps(asked | ({"params": params} if params else {})).encode() + b"\n"


def hello(version: str, **more: object) -> bytes:
    fields = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    return line("initialize", 0, **(fields | more))


def heard(*pieces: bytes) -> tuple[Early, list[dict[str, object]]]:
    said: list[dict[str, object]] = []
    early = Early(lambda out: said.append(json.loads(out)))
    for piece in pieces:
        early.hear(piece)
    return early, said


def test_the_tools_are_those_that_the_library_lists() -> None:
    """Field by field."""
    library = ListToolsResult(tools=[offered(tool) for tool in TOOLS])
    told = library.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert listed()["tools"] == told["tools"]


@pytest.mark.parametrize("version", sorted(KNOWN))
def test_a_plain_beginning_is_answered_in_whatever_pieces_it_comes(
    version: str,
) -> None:
    """Once each, and all of it is kept for the library."""
    whole = hello(version) + line("tools/list") + line("tools/call", 2, name="who")
    early, said = heard(whole[:20], whole[20:90], whole[90:])
    assert [one["id"] for one in said] == [0, 1]
    assert said[0]["result"]["protocolVersion"] == version  # type: ignore[index]
    assert early.answered == {0, 1}
    assert early.said == whole


@pytest.mark.parametrize(
    "odd",
    [
        hello("2099-01-01"),
        hello("2025-06-18", clientInfo={"name": "x"}),
        hello("2025-06-18", capabilities=[]),
        line("initialize"),
        line("tools/list"),
        line("tools/list", cursor="x"),
        line("tools/call", name="who"),
        b"no json\n",
        b"[]\n",
        b"[" * 100_000 + b"\n",
        hello("2025-06-18")[:-1],
        hello("2025-06-18").replace(b'"id": 0, ', b""),
        hello("2025-06-18").replace(b'"id": 0', b'"id": true'),
    ],
)
def test_whatever_is_not_plain_is_left_to_the_library(odd: bytes) -> None:
    early, said = heard(odd)
    assert said == []
    assert early.answered == set()
    assert early.said == odd
