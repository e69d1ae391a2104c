"""homi's tools as a session's client has them: `homi mcp`, a child of the session, and
the protocol's own client at the other end.

The client is in the test's process, so two fifos and a pair of cat lie between.
"""

import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from tests.standin.driver import Standin
from tests.standin.place import Place, homi_command

Json = dict[str, Any]


class Tools:
    """The tools of one session; each call is answered or fails like a tool."""

    def __init__(self, client: ClientSession) -> None:
        """Of a client that has met its server."""
        self.client = client

    async def raw(self, tool: str, meta: Any = None, **given: Any) -> CallToolResult:  # noqa: ANN401
        """What the server answers."""
        return await self.client.call_tool(tool, given, meta=meta)

    async def call(self, tool: str, **given: Any) -> Json:  # noqa: ANN401
        """The fields of a result that is none of a failure; its text under _."""
        result = await self.raw(tool, **given)
        assert not result.is_error, text_of(result)
        assert result.structured_content is not None
        return result.structured_content | {"_": text_of(result)}

    async def refused(self, tool: str, meta: Any = None, **given: Any) -> str:  # noqa: ANN401
        """The text of a failure."""
        result = await self.raw(tool, meta, **given)
        assert result.is_error, text_of(result)
        return text_of(result)


def text_of(result: CallToolResult) -> str:
    """What a model is given of a result."""
    (part,) = result.content
    assert isinstance(part, TextContent)
    return part.text


@contextlib.asynccontextmanager
async def tools_of(place: Place, session: Standin) -> AsyncIterator[Tools]:
    """The tools of a session; at the end its server has ended well, by itself."""
    into, out = (str(place.root / f"{session.name}.{end}") for end in ("in", "out"))
    for path in (into, out):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        os.mkfifo(path, 0o600)
    command = f'exec "$@" <{into} >{out}'
    argv = ["sh", "-c", command, "sh", *homi_command(), "mcp"]
    session.ask("run", argv=argv, input="")
    bridge = StdioServerParameters(
        command="sh", args=["-c", f"cat {out} & exec cat >{into}"]
    )
    async with (
        stdio_client(bridge) as (reader, writer),
        ClientSession(reader, writer) as client,
    ):
        await client.initialize()
        yield Tools(client)
    ended = session.wait("ran")
    assert (ended["rc"], ended["err"]) == (0, ""), ended
