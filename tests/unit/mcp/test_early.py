"""What is answered before the library is loaded is what the library would say."""

import json

import pytest
from mcp_types import DiscoverResult, ListToolsResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from homi.mcp.early import ENVELOPE, KNOWN, NEWEST, Early, listed, spoken
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
        hello("2025-06-18").replace(b'"id": 0', b'"id": "\\ud800"'),
        hello("2025-06-18").replace(b'"x"', b'"\xed\xa0\x80"'),
    ],
)
def test_whatever_is_not_plain_is_left_to_the_library(odd: bytes) -> None:
    early, said = heard(odd)
    assert said == []
    assert early.answered == set()
    assert early.said == odd


def test_which_protocol_is_spoken_is_what_the_library_speaks() -> None:
    """In its own form."""
    told = DiscoverResult.model_validate(spoken())
    assert told.supported_versions == list(MODERN_PROTOCOL_VERSIONS) == [NEWEST]
    assert told.model_dump(mode="json", by_alias=True, exclude_unset=True) == spoken()


def test_a_client_that_asks_and_begins_anew_is_heard_as_one_that_never_asked() -> None:
    """The library would hold it to what it asked about.  A call is the control."""
    asks = line("server/discover", 0, _meta={ENVELOPE: NEWEST})
    rest = hello("2025-11-25").replace(b'"id": 0', b'"id": 1') + line("tools/list", 2)
    early, said = heard(asks[:9], asks[9:] + rest)
    assert [one["id"] for one in said] == [0, 1, 2]
    assert said[0]["result"] == spoken()
    assert early.said == rest
    assert early.answered == {1, 2}
    call = line("tools/call", 0, _meta={ENVELOPE: NEWEST})
    assert heard(call)[0].said == call
