"""A scriptable stand-in for the model's API, on one loopback port (stdlib only).

Steps are queued per session id and used up one per model call of that session's
main loop (a call that carries several tools).  A step is
  {"text": "…"}                     answer with text, end the turn
  {"tool": "Bash", "input": {…}}    answer with one tool call
  {"error": 529}                    answer with an API error
and may add "sleep": seconds.  With an empty queue the answer is the text "ok", to what
holds `SLEEP n` n seconds later.

  POST /_ctl/push  {"session": id, "steps": […]}
  GET  /_ctl/log?session=ID&since=N   the model calls, oldest first
  GET  /_ctl/asked?text=T         how many requests hold T anywhere, in any session
  GET  /_ctl/ping
"""

import argparse
import json
import os
import re
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
SLEEP = re.compile(r"SLEEP (\d+)")
SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def texts_of(content: Any) -> Iterator[str]:  # noqa: ANN401 - the API's own shapes
    """The blocks of one message as texts, tool results marked."""
    if isinstance(content, str):
        yield content
        return
    for block in content or []:
        if block.get("type") == "text":
            yield block["text"]
        elif block.get("type") == "tool_result":
            inner = block.get("content")
            if isinstance(inner, list):
                inner = "\n".join(part.get("text", "") for part in inner)
            yield f"[tool_result] {inner}"


def newest(body: Json) -> list[str]:
    """What the model is given since its last answer, user and system role alike."""
    found: list[str] = []
    for message in reversed(body.get("messages") or []):
        if message.get("role") == "assistant":
            break
        found[:0] = texts_of(message.get("content"))
    return found


class Api(ThreadingHTTPServer):
    """The queues and the log, shared by all connections."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int) -> None:
        """Listening on loopback."""
        self.lock = threading.Lock()
        self.queues: dict[str, list[Json]] = {}
        self.calls: list[Json] = []
        self.bodies: list[str] = []  # of every request, whole
        super().__init__(("127.0.0.1", port), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """A session that died in mid-answer is normal here."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def step(self, body: Json, session: str) -> Json:
        """Log a call of the model; the step that answers it."""
        main = len(body.get("tools") or []) > 3
        with self.lock:
            self.bodies.append(json.dumps(body, ensure_ascii=False))
            self.calls.append(
                {
                    "n": len(self.calls) + 1,
                    "t": time.time(),
                    "session": session,
                    "main": main,
                    "new": newest(body),
                }
            )
            queue = self.queues.get(session) if main else None
            if queue:
                return queue.pop(0)
        slow = SLEEP.search("\n".join(newest(body))) if main else None
        return {"text": "ok", "sleep": int(slow[1]) if slow else 0}

    def log(self, session: str, since: int) -> list[Json]:
        """The calls of a session's main loop after number since."""
        with self.lock:
            return [
                call
                for call in self.calls
                if call["main"]
                and call["n"] > since
                and session in ("", call["session"])
            ]


class Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    server: Api

    def log_message(self, *_: object) -> None:
        """Say nothing on stderr."""

    def reply(self, value: Any, status: int = 200) -> None:  # noqa: ANN401
        """One JSON answer."""
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_HEAD(self) -> None:
        """The client's own check of the address."""
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """Control, and the lists the client asks for at start."""
        url = urllib.parse.urlparse(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/_ctl/ping":
            self.reply({"ok": True})
        elif url.path == "/_ctl/log":
            since = int(query.get("since", 0))
            self.reply(self.server.log(query.get("session", ""), since))
        elif url.path == "/_ctl/asked":
            with self.server.lock:
                self.reply(sum(query["text"] in one for one in self.server.bodies))
        elif url.path.startswith("/v1/models"):
            self.reply({"data": [], "has_more": False})
        else:
            self.reply({"type": "error", "error": {"type": "not_found_error"}}, 404)

    def body(self) -> Json:
        """The request's JSON, whichever way its length is told."""
        raw = b""
        if "chunked" in (self.headers.get("transfer-encoding") or ""):
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        found = json.loads(raw or b"{}")
        return found if isinstance(found, dict) else {}

    def do_POST(self) -> None:
        """A model call, or a script for one."""
        body = self.body()
        path = urllib.parse.urlparse(self.path).path
        if path == "/_ctl/push":
            with self.server.lock:
                queue = self.server.queues.setdefault(body["session"], [])
                queue.extend(body["steps"])
            self.reply({"ok": True})
        elif path.endswith("/count_tokens"):
            self.reply({"input_tokens": 100})
        elif path.endswith("/v1/messages"):
            self.message(body)
        else:
            self.reply({})

    def session(self, body: Json) -> str:
        """The session id a call belongs to."""
        if named := self.headers.get("x-claude-code-session-id"):
            return str(named)
        user = str((body.get("metadata") or {}).get("user_id") or "")
        return str((SESSION.findall(user) or [""])[-1])

    def message(self, body: Json) -> None:
        """Answer a model call by its step."""
        step = self.server.step(body, self.session(body))
        if pause := step.get("sleep"):
            time.sleep(pause)
        if status := step.get("error"):
            error = {"type": "api_error", "message": "scripted"}
            self.reply({"type": "error", "error": error}, status)
            return
        blocks = _blocks(step)
        stop = "tool_use" if "tool" in step else "end_turn"
        if body.get("stream"):
            self.stream(_message(body), blocks, stop)
        else:
            self.reply(_message(body) | {"content": blocks, "stop_reason": stop})

    def stream(self, message: Json, blocks: list[Json], stop: str) -> None:
        """The answer as server-sent events."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.event("message_start", message=message)
        for index, block in enumerate(blocks):
            self.block(index, block)
        delta = {"stop_reason": stop, "stop_sequence": None}
        self.event("message_delta", delta=delta, usage={"output_tokens": 5})
        self.event("message_stop")
        self.close_connection = True

    def block(self, index: int, block: Json) -> None:
        """One content block: begun empty, filled by one delta, ended."""
        if block["type"] == "text":
            begin = block | {"text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            begin = block | {"input": {}}
            given = json.dumps(block["input"])
            delta = {"type": "input_json_delta", "partial_json": given}
        self.event("content_block_start", index=index, content_block=begin)
        self.event("content_block_delta", index=index, delta=delta)
        self.event("content_block_stop", index=index)

    def event(self, kind: str, **fields: object) -> None:
        """One server-sent event."""
        data = json.dumps({"type": kind, **fields})
        self.wfile.write(f"event: {kind}\ndata: {data}\n\n".encode())
        self.wfile.flush()


def _message(body: Json) -> Json:
    return {
        "id": f"msg_{os.urandom(12).hex()}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "fake"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }


def _blocks(step: Json) -> list[Json]:
    blocks: list[Json] = []
    if text := step.get("text"):
        blocks.append({"type": "text", "text": text})
    if "tool" in step:
        call = f"toolu_{os.urandom(12).hex()}"
        given = step.get("input", {})
        blocks.append(
            {"type": "tool_use", "id": call, "name": step["tool"], "input": given}
        )
    return blocks


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="scripted model API on loopback")
    parser.add_argument("--port", type=int, required=True)
    Api(parser.parse_args().port).serve_forever()
