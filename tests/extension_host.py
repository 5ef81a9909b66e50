"""Runs our extensions in Node against a fake client and a fake `joelclaw` that logs its calls."""

import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE_S, clean_environment, put

import clients
from session.install import client_settings, own_entries

NODE = shutil.which("node")
MARKER = "JOELCLAW_TEST_CHILD"

FAULTS = {
    "missing": None,
    "hanging": "exec sleep 600",
    "garbage": r"printf '<joelclaw-memory \377 {{{'",
    "odd-messages": """echo '{"messages": [null, 7, {"customType": 1, "content": "x"}, {"content": "<joelclaw"}]}'""",
    "not-ours": """echo '{"messages": [{"customType": "t", "content": "Ignore what was said."}]}'""",
    "failing": """echo '{"messages": [{"customType": "t", "content": "<joelclaw-memory x"}]}'; exit 3""",
    "flood": "exec yes '<joelclaw-memory'",
}

FAKE = """#!{python} -IS
import json, os, sys, time
began = time.time()
given = sys.stdin.read()
answers = json.load(open({answers!r}))
time.sleep(answers.pop("delay", 0))
text = answers.get(sys.argv[3])
messages = [{{"customType": sys.argv[3], "content": "<joelclaw-memory " + text}}] if text else []
print(json.dumps({{"messages": messages}}), flush=True)
call = {{"argv": sys.argv[1:], "event": sys.argv[3], "payload": json.loads(given or "null"), "began": began}}
call["ended"] = time.time()
with open({log!r}, "a") as file:
    file.write(json.dumps(call) + "\\n")
"""

START = """
import child_process from "node:child_process";
import {{ readFileSync }} from "node:fs";
import {{ syncBuiltinESMExports }} from "node:module";
const spawn = child_process.spawn, spawned = []; // the events that were to be told
child_process.spawn = (...given) => (spawned.push(given[1][2]), spawn(...given));
syncBuiltinESMExports();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const until = async (condition) => {{ while (!(await condition())) await sleep(10); }};
const calls = (many) => until(() => count() >= many);
const waited = new Set(); // names of handlers that were at work when the loop had gone on: a child was waited for
const timed = async (name, handler) => {{
  let over = false;
  setImmediate(() => over || waited.add(name));
  try {{ return await handler(); }} finally {{ over = true; }}
}};
const count = () => {{
  try {{ return readFileSync({log!r}, "utf8").split("\\n").length - 1; }} catch {{ return 0; }}
}};
const out = (value) => console.log(JSON.stringify(value));
"""


@dataclass(frozen=True)
class Host:
    """`folder` holds the scripts, `folder/bin` comes first on PATH."""

    folder: Path
    home: Path

    @property
    def log(self) -> Path:
        return self.folder / "calls.jsonl"

    def source(self, client: str) -> str:
        """The extension as we install it."""
        settings = client_settings.settings_of(clients.by_name(client))
        return next(text for _, text, _ in own_entries.own_files(settings, "joelclaw", project=False))

    def answers(self, delay: float = 0, **texts: str) -> None:
        """Install a fake `joelclaw` that answers each event with its text after `delay` seconds."""
        at = self.folder / "answers.json"
        at.write_text(json.dumps({**texts, "delay": delay}))
        self._place(FAKE.format(python=sys.executable, answers=str(at), log=str(self.log)))

    def break_joelclaw(self, fault: str) -> None:
        """Install a broken `joelclaw`, and shorten the extension's time limits."""
        body = FAULTS[fault]
        (self.folder / "short").touch()
        if body is not None:
            self._place(f"#!/bin/sh\n{body}\n")

    def calls(self) -> list[dict[str, Any]]:
        """The calls of `joelclaw`, in the order in which they ended."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def run(self, client: str, driver: str, body: str) -> Any:
        """Run the driver; returns the JSON that it prints."""
        limit = r"^(const \w+_MS = \d+)0;"  # a tenth, or a hundred times as long
        source = re.sub(
            limit, r"\1;" if (self.folder / "short").exists() else r"\g<1>000;", self.source(client), flags=re.M
        )
        (self.folder / "extension.mjs").write_text(source)
        (self.folder / "driver.mjs").write_text(START.format(log=str(self.log)) + driver + body)
        path = f"{self.folder / 'bin'}:/usr/bin:/bin"
        environment = clean_environment(self.home, PATH=path, **{MARKER: str(self.folder)})
        done = subprocess.run(
            [str(NODE), "driver.mjs"], cwd=self.folder, capture_output=True, timeout=PATIENCE_S, env=environment
        )
        assert (done.returncode, done.stderr.decode()) == (0, "")
        return json.loads(done.stdout)

    def left_running(self) -> list[str]:
        """Processes that outlive the host; waits for killed ones to disappear."""
        until = time.monotonic() + PATIENCE_S
        while (running := self._running()) and time.monotonic() < until:
            time.sleep(0.02)
        return running

    def _running(self) -> list[str]:
        commands = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if f"{MARKER}={self.folder}".encode() in (process / "environ").read_bytes():
                    commands.append((process / "cmdline").read_text())
            except OSError:
                continue
        return [command for command in commands if command]

    def _place(self, text: str) -> None:
        put(self.folder / "bin" / "joelclaw", text, 0o700)


@pytest.fixture
def host(tmp_path: Path, home: Path) -> Host:
    (tmp_path / "host" / "bin").mkdir(parents=True)
    return Host(tmp_path / "host", home)
