"""A stand-in for the model's API that Codex speaks, on one loopback port (stdlib only).

A prompt that holds `CALL name {json}` is answered by a call of the tool of that name,
and what that returned by the text "done"; any other prompt by the text "ok", of one
that holds `SLEEP n` n seconds later.

  GET /_ctl/log     every request so far: its tools by name, and all of it as text
"""

import argparse
import json
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
SLEEP = re.compile(r"SLEEP (\d+)")
CALL = re.compile(r"CALL (\w+) (\{.*?\})")


def tools_of(body: Json) -> list[tuple[str, str]]:
    """Server and name of each tool; the client puts a server's own into a group."""
    found = []
    for tool in body.get("tools") or []:
        if tool.get("type") == "namespace":
            found += [(tool["name"], one["name"]) for one in tool.get("tools", [])]
        else:
            found.append(("", str(tool.get("name") or tool.get("type"))))
    return found


def answer(body: Json) -> Json:
    """The one item the model answers with."""
    items = body["input"] if isinstance(body.get("input"), list) else []
    newest = items[-1] if items else {}
    if str(newest.get("type", "")).endswith("_output"):
        return _message("done")
    wanted = CALL.search(json.dumps(newest, ensure_ascii=False).replace('\\"', '"'))
    for server, name in tools_of(body) if wanted else ():
        if wanted and name == wanted[1]:
            item = {"type": "function_call", "id": "fc_1", "call_id": "call_1"}
            item |= {"name": name, "arguments": wanted[2], "status": "completed"}
            return item | ({"namespace": server} if server else {})
    return _message("ok")


def _message(text: str) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    head = {"type": "message", "id": "msg_1", "role": "assistant"}
    return head | {"status": "completed", "content": content}


class Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    server: "Api"

    def log_message(self, *_: object) -> None:
        """Say nothing on stderr."""

    def do_GET(self) -> None:
        """The log, and the list of models."""
        found: object = self.server.log
        if self.path != "/_ctl/log":
            found = {"object": "list", "data": [], "models": []}
        data = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self) -> None:
        """A model call."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(raw)
        names = [f"{server}/{name}" for server, name in tools_of(body)]
        self.server.log.append({"tools": names, "text": raw.decode()})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        newest = json.dumps((body.get("input") or [""])[-1])
        if (wanted := SLEEP.search(newest)) is not None:
            time.sleep(int(wanted[1]))
        item = answer(body)
        head = {"id": "resp_1", "object": "response", "output": []}
        used = dict.fromkeys(("input_tokens", "output_tokens", "total_tokens"), 1)
        self.event("response.created", response=head | {"status": "in_progress"})
        self.event("response.output_item.added", output_index=0, item=item)
        self.event("response.output_item.done", output_index=0, item=item)
        ended = head | {"status": "completed", "usage": used}
        self.event("response.completed", response=ended)
        self.close_connection = True

    def event(self, kind: str, **fields: object) -> None:
        """One server-sent event."""
        data = json.dumps({"type": kind, **fields})
        self.wfile.write(f"event: {kind}\ndata: {data}\n\n".encode())
        self.wfile.flush()


class Api(ThreadingHTTPServer):
    """The log, shared by all connections."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        """Listening on loopback."""
        self.log: list[Json] = []
        super().__init__(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="scripted model API on loopback")
    parser.add_argument("--port", type=int, required=True)
    Api(parser.parse_args().port).serve_forever()
