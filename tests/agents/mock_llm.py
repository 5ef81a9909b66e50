"""A scripted model on 127.0.0.1, which talks to no other host.

Routes (server-sent events when the request asks for a stream, plain JSON otherwise)
    POST /v1/chat/completions                          OpenAI chat        (pi, opencode)
    POST /v1/responses                                 OpenAI Responses   (codex)
    POST /v1/messages            (+ /count_tokens)     Anthropic          (claude)
    POST /v1beta/models/M:[stream]generateContent      Gemini             (gemini)
                                 (+ :countTokens)
    GET  /v1/models, HEAD /, GET /anything             {"ok": true}
    CONNECT host:port, GET http://other-host/...       refused with 403 and logged as {"egress": ...}

A client whose HTTPS_PROXY is this server cannot leave loopback through it, and the log shows what it tried to reach.

Script (a dictionary; the keys "client", "prompts" and "facts" are for harness.py)
    {"rules":   [RULE, ...],     the first match answers; it does not use up a step
     "steps":   [REPLY, ...],    one per request that no rule matched, in order
     "default": REPLY}           once the steps are used up
RULE = {"name": "compact",       goes to the log
        "match": "regex",        searched in the whole request body, as received
        "no_tools": true,        optional: only requests that offer no tools
        "path": "regex",         optional: searched in the request's path
        "reply": REPLY}
REPLY = {"text": "...",
         "tool_calls": [{"name": "bash", "args": {...}}],     (codex: "NAMESPACE/NAME" for a tool of a server)
         "usage": {"input": N, "output": N} | "auto",   auto = characters of the body / 4
         "usage_add": N,         added to the input of an "auto" usage
         "pad": N,               N filler characters after the text
         "delay": SECONDS,
         "error": {"status": 400, "body": {...}}}        instead of a completion
``{{CWD}}`` anywhere in the script becomes the working folder, for clients whose file tools want absolute paths.

Log: one JSON object a line, {n, t, path, headers, rule, step, chars, body, reply}.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import wires

KEPT_HEADERS = ("user-agent", "anthropic-beta", "anthropic-version", "x-app")


class Script:
    """Rules and steps, and the next step."""

    def __init__(self, data: dict[str, Any], cwd: str = ""):
        if cwd:
            data = json.loads(json.dumps(data).replace("{{CWD}}", json.dumps(cwd)[1:-1]))
        self.rules = data.get("rules", [])
        self.steps = data.get("steps", [])
        self.default = data.get("default", {"text": "ok", "usage": "auto"})
        self.step = self.number = 0
        self.lock = threading.Lock()

    def pick(self, path: str, text: str, body: dict[str, Any]) -> tuple[int, str | None, int | None, dict[str, Any]]:
        """The number, rule name, step index and reply for a request."""
        with self.lock:
            self.number += 1
            for i, rule in enumerate(self.rules):
                if rule.get("no_tools") and body.get("tools"):
                    continue
                if rule.get("path") and not re.search(rule["path"], path):
                    continue
                if re.search(rule["match"], text, re.DOTALL):
                    return self.number, rule.get("name", str(i)), None, rule["reply"]
            at, self.step = self.step, self.step + 1
            return self.number, None, at, self.steps[at] if at < len(self.steps) else self.default


class Handler(BaseHTTPRequestHandler):
    """A connection."""

    protocol_version = "HTTP/1.1"
    script: Script
    log_path: Path | None = None
    log_lock = threading.Lock()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing; requests go to the log."""

    def record(self, **fields: Any) -> None:
        line = json.dumps({"t": round(time.time(), 3), **fields})
        if self.log_path:
            with self.log_lock, open(self.log_path, "a", encoding="utf-8") as file:
                file.write(line + "\n")

    def send_json(self, code: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def start_events(self) -> None:
        """Begin a stream of events, which ends with the connection."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, value: Any, *, named: bool = False) -> None:
        """Send an event of the stream; strings are sent unchanged."""
        head = f"event: {value['type']}\n" if named else ""
        data = value if isinstance(value, str) else json.dumps(value)
        self.wfile.write(f"{head}data: {data}\n\n".encode())
        self.wfile.flush()

    def read_body(self) -> str:
        """The request's body, joined and decompressed."""
        if "chunked" in (self.headers.get("transfer-encoding") or "").lower():
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if (self.headers.get("content-encoding") or "").lower() == "gzip":
            raw = gzip.decompress(raw)
        return raw.decode("utf-8", "replace")

    def is_own(self, host: str) -> bool:
        """Whether host:port is this server."""
        port = self.server.server_address[1]
        return host in (f"127.0.0.1:{port}", f"localhost:{port}")

    def refuse(self) -> None:
        self.record(egress=self.path, method=self.command)
        self.close_connection = True
        self.send_json(403, {"error": {"message": "the mock refuses to leave loopback"}})

    def is_foreign(self) -> bool:
        """Refuse a proxied request for another host; remove our own host from the path."""
        match = re.match(r"https?://([^/]+)(/.*|$)", self.path)
        if not match:
            return False
        if self.is_own(match[1]):
            self.path = match[2] or "/"
            return False
        self.refuse()
        return True

    def do_CONNECT(self) -> None:  # the name that http.server calls
        """Accept tunnels to this server only."""
        if not self.is_own(self.path):
            self.refuse()
            return
        self.send_response(200, "Connection established")
        self.end_headers()
        self.close_connection = False

    def do_HEAD(self) -> None:
        """Answer a connectivity check."""
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """List the models, or answer `ok`."""
        if self.is_foreign():
            return
        self.record(method="GET", path=self.path)
        models = self.path.split("?")[0].endswith("/models")
        listed = {"object": "list", "data": [{"id": "mock-1", "object": "model"}]}
        self.send_json(200, listed if models else {"ok": True})

    def do_POST(self) -> None:
        if self.is_foreign():
            return
        text = self.read_body()
        try:
            body = json.loads(text or "{}")
        except ValueError:
            body = {"_raw": text[:2000]}
        path = self.path.split("?")[0]
        write = next((write for end, write in wires.BY_PATH if path.endswith(end)), None)
        if path.endswith("/count_tokens"):
            self.send_json(200, {"input_tokens": len(text) // 4})
        elif path.endswith(":countTokens"):
            self.send_json(200, {"totalTokens": len(text) // 4})
        elif write is None:
            self.record(method="POST", path=self.path, body=body)
            self.send_json(200, {})
        else:
            self.reply(write, text, body)

    def reply(self, write: Any, text: str, body: dict[str, Any]) -> None:
        """Log the request and send the scripted reply."""
        number, rule, step, reply = self.script.pick(self.path.split("?")[0], text, body)
        headers = {name: value for name, value in self.headers.items() if name.lower() in KEPT_HEADERS}
        self.record(
            n=number, path=self.path, rule=rule, step=step, chars=len(text), headers=headers, body=body, reply=reply
        )
        time.sleep(reply.get("delay", 0))
        if "error" in reply:
            error = reply["error"]
            self.send_json(error.get("status", 500), error.get("body", {"error": {"message": "mock"}}))
            return
        usage, size = reply.get("usage", "auto"), len(text)
        if usage == "auto":
            usage = {"input": size // 4 + reply.get("usage_add", 0), "output": 20}
        text = reply.get("text", "") + "x" * reply.get("pad", 0)
        write(self, body, wires.Answer(number, text, reply.get("tool_calls", []), usage["input"], usage["output"]))


class Server(ThreadingHTTPServer):
    """Runs a thread for each connection; a client may hang up."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print errors other than closed connections."""
        fault = sys.exc_info()[1]
        if not isinstance(fault, ConnectionError):
            sys.stderr.write(f"mock: {type(fault).__name__}: {fault}\n")


def serve(script: dict[str, Any], log_path: Path | None = None, port: int = 0, cwd: str = "") -> Server:
    """A bound server that does not run yet; its port is ``server_port``."""
    bound = type("BoundHandler", (Handler,), {"script": Script(script, cwd), "log_path": log_path})
    return Server(("127.0.0.1", port), bound)
