"""Gemini CLI (0.61): its payloads, and its chat file. Hot path.

A message is written again under the same id when its tools have run. A compression and a resumption write the whole
history again in a `$set` line; its messages are on lines of their own before, so that line yields only the history.
"""

from __future__ import annotations

import os

from clients.base import NOTICE, Client
from clients.content import as_object, as_objects, as_text, parse_timestamp, parsed, text_of, typed, without_ours
from clients.entries import Entry, diff_entries, plan_entries, result_entry, usage_entries, with_node
from core import TYPE_CHECKING
from core.files import start_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from clients.base import HookEvent, Text


class Gemini(Client):
    """It has no event after a compression, and its chat file records none (0.61.0)."""

    name = "gemini"
    title = "Gemini CLI"
    home_variable = "GEMINI_CLI_HOME"
    home_folder = ".gemini"
    settings_file = "settings.json"
    hook_timeout = 5000  # milliseconds
    transcripts = ("tmp/*.jsonl", "tmp/session-*.json")
    events = {
        "SessionStart": "start",
        "BeforeAgent": "prompt",
        "AfterTool": "tool",
        "AfterAgent": "turn",
        "SessionEnd": "end",
    }
    session_file = "chat file"
    folder_mark = b""
    said_marks = (b'"user"', b'"gemini"', b'"$rewindTo"')
    context_marks = (b'"tokens"', b"<state_snapshot>")
    writing_tools = ("write_file", "replace")
    reading_tools = ("read_file",)
    shows_bare_lines = True
    shell_tools = ("run_shell_command",)
    path_keys = ("file_path", "absolute_path")
    compaction_sign = "usage"
    shows_notices = True
    window = 1_048_576

    def home(self) -> str:
        """Its configuration folder, which is below the home that the variable names."""
        return os.path.join(os.environ.get(self.home_variable) or os.path.expanduser("~"), self.home_folder)

    def answer(self, event: HookEvent, texts: Sequence[Text]) -> str:
        """What a hook prints: the texts for the model, and a notice that Gemini CLI shows to the user."""
        notices = [text["content"] for text in texts if text["customType"] == NOTICE]
        answer = super().answer(event, [text for text in texts if text["customType"] != NOTICE])
        if not notices:
            return answer
        from core import json_text

        return json_text.dumps({**(json_text.loads(answer) if answer else {}), "systemMessage": notices[0]})

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether a line is a `$set`, an answer of Gemini, or the head of a chat."""
        kind = line.get("type")
        return "$set" in line or kind == "gemini" or (kind is None and "projectHash" in line and "sessionId" in line)

    def folder_of(self, path: str, line: dict[str, Any], known: Iterable[str]) -> str:
        """From `.project_root` or `projects.json`, or a known folder that has the hash of the chat's project."""
        from hashlib import sha256

        folder = os.path.dirname(os.path.abspath(path))
        while os.path.basename(os.path.dirname(folder)) not in ("tmp", ""):
            folder = os.path.dirname(folder)
        name = os.path.basename(folder)
        above = os.path.dirname(os.path.dirname(folder))  # of `tmp`
        home = above if os.path.isfile(above + "/projects.json") else self.home()
        text = start_of(os.path.join(home, "projects.json"), 1_000_000)
        projects = as_object(parsed(text.encode("utf-8", "replace")), "projects")
        roots = [start_of(f"{home}/{below}/{name}/.project_root", 4_096).strip() for below in ("tmp", "history")]
        named = [*filter(None, roots), *(root for root, short in projects.items() if name and short == name)]
        wanted = as_text(line.get("projectHash")) or name
        for candidate in (*named, *projects, *known):
            if sha256(candidate.encode("utf-8", "surrogateescape")).hexdigest() == wanted:
                return candidate
        return named[0] if named else ""

    def entries(self, line: dict[str, Any]) -> list[Entry]:
        """The entries of a line; the client's notices are nodes without content."""
        kind, own, at = line.get("type"), as_text(line.get("id")), parse_timestamp(line.get("timestamp"))
        found: list[Entry] = []
        history = as_objects(as_object(line.get("$set")).get("messages"))
        if kind == "gemini":
            found = self._answer_entries(line, at)
        elif kind == "user":
            given = line.get("content")
            found = [Entry("prompt", text=typed(given, ("text", None)), content=given)]
        elif rewound_to := as_text(line.get("$rewindTo")):
            found = [Entry("rollback", rewound_to=rewound_to)]
        elif history:
            found = [Entry("history", content=[row.get("content") for row in history])]
            own = _snapshot_id(history)
        if name := as_text(line.get("summary")) or as_text(as_object(line.get("$set")).get("summary")):
            found.append(Entry("title", text=name, origin="client"))
        found = with_node(found, at, own, client=self.name)
        if kind is None and "projectHash" in line:
            found[0].session = as_text(line.get("sessionId"))
        return found

    def _answer_entries(self, line: dict[str, Any], at: int | None) -> list[Entry]:
        answer = Entry("answer")
        answer.content = given = line.get("content")
        if isinstance(given, list):
            given = [{**part, "type": "text"} for part in as_objects(given) if not part.get("thought")]
        answer.text = text_of(given)
        calls: list[Entry] = []
        others: list[Entry] = []
        for row in as_objects(line.get("toolCalls")):
            tool, wanted = as_text(row.get("name")), row.get("args")
            call = self.tool_call(row.get("id"), tool, wanted, at, content=wanted)
            calls.append(call)
            others += _result_entries(row)
            others += diff_entries(call.call, call.target, as_object(row.get("resultDisplay")).get("fileDiff"))
            if tool == "write_todos":
                others += plan_entries(call.call, as_object(wanted).get("todos"), "description")
        return [answer, *calls, *others, *usage_entries(line.get("tokens"), ("input",), line.get("model"))]


def _snapshot_id(history: list[dict[str, Any]]) -> str:
    """The id of the summary in a history that was compressed, else ""."""
    for row in history:
        if any(as_text(part.get("text")).startswith("<state_snapshot>") for part in as_objects(row.get("content"))):
            return as_text(row.get("id"))
    return ""


def _result_entries(row: dict[str, Any]) -> list[Entry]:
    """What a call returned, nothing if the user did not let it run. The text says how a command ended."""
    result = row.get("result")
    results = as_objects(result if isinstance(result, list) else [result])
    answers = [as_object(as_object(part.get("functionResponse")).get("response")) for part in results]
    if not answers or row.get("status") == "cancelled":
        return []
    texts = [as_text(answer.get("output")) or as_text(answer.get("error")) for answer in answers]
    text = without_ours("\n".join(text for text in texts if text).strip())
    text = text.removeprefix("<untrusted_context>").removesuffix("</untrusted_context>").strip()
    failed = row.get("status") == "error" or any("error" in answer for answer in answers)
    if row.get("name") == "run_shell_command" and not failed:
        begin = "Exit Code: "
        codes = [line[len(begin) :].strip() for line in text.split("\n") if line.startswith(begin)]
        failed = bool(codes) and codes[-1] not in ("0", "(none)")
    entry = result_entry(row.get("id"), text, failed)
    entry.content = None  # the next message holds it again
    return [entry]
