"""The protocol's lines: when a result is out, and what a line that is none is told."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable

import pytest
from anyio import BrokenResourceError
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse, RequestId

from homi.mcp import pipe
from homi.mcp.early import DISCOVER, ENVELOPE, NEWEST, spoken

Ends = tuple[pipe.Input, pipe.Output, int, int]


def between(story: Callable[[Ends, list[RequestId]], Awaitable[None]]) -> None:
    """Run story between two pipes: what comes in is written to the third, what goes
    out is read from the fourth."""

    async def run() -> None:
        (into, given), (out, sink) = os.pipe(), os.pipe()
        handed: list[RequestId] = []
        ends = await pipe.connect(
            os.fdopen(into, "rb"), os.fdopen(sink, "wb", buffering=0), handed.append
        )
        async with asyncio.timeout(20), ends[1]:
            await story((*ends, given, out), handed)

    asyncio.run(run())


def answer(number: int, size: int) -> SessionMessage:
    """The answer to a request, that long."""
    result = {"text": "x" * size}
    return SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=number, result=result))


def test_a_result_is_out_when_its_last_byte_is() -> None:
    """Not while it waits for a reader; the control is one the pipe takes at once."""

    async def story(ends: Ends, handed: list[RequestId]) -> None:
        _, output, given, out = ends
        await output.send(answer(1, 10))
        assert handed == [1]
        assert os.read(out, 1 << 10).endswith(b"}\n")
        long = asyncio.create_task(output.send(answer(2, 1 << 20)))
        data = b""
        while not data.endswith(b"\n"):
            assert handed == [1]
            data += await asyncio.to_thread(os.read, out, 1 << 16)
            if len(data) < 1 << 19:
                assert not long.done()
        await long
        assert handed == [1, 2]
        os.close(given)
        os.close(out)

    between(story)


def test_what_nobody_reads_is_never_out_and_ends_the_input() -> None:
    """Its reader went away in the middle of it."""

    async def story(ends: Ends, handed: list[RequestId]) -> None:
        source, output, given, out = ends
        long = asyncio.create_task(output.send(answer(1, 1 << 20)))
        assert await asyncio.to_thread(os.read, out, 1 << 10)
        os.close(out)
        with pytest.raises(BrokenResourceError):
            await long
        with pytest.raises(StopAsyncIteration):
            await source.receive()
        with pytest.raises(BrokenResourceError):
            await output.send(answer(2, 1))
        assert handed == []
        os.close(given)

    between(story)


def test_lines_that_are_none_are_answered_and_the_next_one_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By number where they have one; a line over the limit is dropped whole."""
    monkeypatch.setattr(pipe, "LINE_MAX", 1 << 10)

    async def story(ends: Ends, _: list[RequestId]) -> None:
        source, _, given, out = ends
        os.write(given, b'nonsense\n\n{"id":7,"a":"\\ud800"}\n[' + b"1" * 5000 + b"]\n")
        os.write(given, b'{"jsonrpc":"2.0","id":8,"method":"ping"}\n')
        os.close(given)
        found = await source.receive()
        assert isinstance(found, SessionMessage)
        assert found.message.model_dump()["id"] == 8
        with pytest.raises(StopAsyncIteration):
            await source.receive()
        said = os.read(out, 1 << 12).decode().splitlines()
        assert '"id": null' in said[0]
        assert '"id": 7' in said[1]
        assert "more than 1024 bytes" in said[2]
        os.close(out)

    between(story)


def test_which_protocol_is_spoken_is_answered_before_the_library_hears_of_it() -> None:
    """Whenever it is asked; the same question in the older form is the library's."""

    async def story(ends: Ends, handed: list[RequestId]) -> None:
        source, _output, given, out = ends
        for number, params in enumerate(({"_meta": {ENVELOPE: NEWEST}}, {})):
            asked = {"jsonrpc": "2.0", "id": number, "method": DISCOVER}
            os.write(given, json.dumps(asked | {"params": params}).encode() + b"\n")
        found = await source.receive()
        assert isinstance(found, SessionMessage)
        assert isinstance(found.message, JSONRPCRequest)
        assert found.message.id == 1
        said = json.loads(os.read(out, 65_536))
        assert (said["id"], said["result"]) == (0, spoken())
        assert handed == []
        os.close(given)
        with pytest.raises(StopAsyncIteration):
            await source.receive()
        os.close(out)

    between(story)
