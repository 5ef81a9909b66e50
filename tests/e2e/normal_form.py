"""What two runs of a client have in common: transcripts and configuration without ids, times and paths."""

import json
import re
from pathlib import Path
from typing import Any

from .session import Session

OF_THE_CLIENT = {"claude": ("last-prompt", "atis-latch"), "copilot": ("hook.start", "hook.end")}
"""Types of transcript entries that a client writes whenever it finds the time, between any two others."""
OF_HOOKS = {"claude": ("stop_hook_summary", "hook_cancelled"), "qwen": ("ui_telemetry",)}
"""Subtypes of entries in which a client keeps that a hook ran: one for each Stop, and one for each that ran into its
timeout. The other clients keep nothing of a hook that says nothing."""
CONFIGURATION = {
    "pi": (".pi/agent/settings.json", ".pi/agent/models.json", ".pi/agent/auth.json"),
    "claude": (".claude.json", ".claude/settings.json"),
    "codex": (".codex/hooks.json",),
    "gemini": (".gemini/settings.json", ".gemini/projects.json"),
    "openclaw": (".openclaw/openclaw.json",),
    "qwen": (".qwen/settings.json",),
    "copilot": (".copilot/settings.json",),
    "opencode": (".config/opencode/opencode.json",),
}
"""Files below HOME. Codex's own settings are TOML, which it does not write in these runs."""
VOLATILE = re.compile(
    r"(?:.*_)?(?:at|ts|time|timestamp|times|duration|durations|ms|seconds|secs|nanos|completed|created|updated|start|end)"
    r"|(?:.*_)?(?:port|current_tokens)|(?:current|system|conversation|.*Compaction)Tokens|event\w*(?:Count|Bytes)"
    r"|.*(?:At|Ts|Time|Timestamp|Ms|Duration|DurationWithoutRetries|Seconds)"
)
"""Keys whose numbers tell when, or how long; in Copilot CLI also how large the log is, which has the
hooks' inputs, and tokens, to which a session's id belongs."""
IDS = ("id", "parentId", "parentUuid", "firstKeptEntryId", "hash", "sourceHash", "process_id", "slug")
"""Keys whose texts are ids of another form than those below."""
WRITTEN_LATE = "compressedHistory"
"""Qwen Code queues the line of a compaction, and the next prompt may get into its history before it is written."""
NOTHING_CHANGED = {"diffs": []}
"""OpenCode writes this summary of a message some time after the message, or never."""
PATTERNS = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"\b[Ss]ession[- ][0-9a-f]{8}\b"), "ID"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"\b(?:ses|msg|prt|call|toolu|req|per|evt)_[0-9a-zA-Z]+"), "ID"),
    (re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?"), "TIME"),
    (re.compile(r"\b1[0-9]{12}\b"), "TIME"),
    (re.compile(r"\bchatcmpl-\d+"), "ID"),
    (re.compile(r"127\.0\.0\.1:\d+"), "MOCK"),
    (re.compile(r"commentary-0-[0-9a-f]{24}|\bID-[0-9a-f]{16}\b"), "ID"),
    (re.compile(r"\b\d{1,2}:\d{2} [AP]M\b"), "TIME"),
    (re.compile(r"Wall time: [0-9.]+ seconds|PGID: \d+|Chunk ID: \w+"), "NUMBER"),
    (re.compile(r"/(?:tmp|dev/shm)/(?:[\w-]+/)*agent-\w+"), "SCRATCH"),
)


def normal(value: Any, session: Session, key: str = "") -> Any:
    """A value of JSON without what differs between any two runs."""
    if isinstance(value, dict):
        remaining = {name: part for name, part in value.items() if part != NOTHING_CHANGED and name != WRITTEN_LATE}
        return {text(name, session): normal(part, session, name) for name, part in remaining.items()}
    if key in IDS and (value is None or isinstance(value, str)):
        return "ID"
    if isinstance(value, list):
        parts = [normal(part, session) for part in value if not is_own_tool(part)]
        return ["ID"] if set(map(str, parts)) == {"ID"} else parts  # how many are listed depends on hooks' entries
    if isinstance(value, str):
        return text(value, session)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and VOLATILE.fullmatch(key):
        return 0
    return value


OWN_TOOLS = ("recall", "remember")
"""What the extension adds to a client's tools, whether our command answers or not."""


def is_own_tool(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and (value.get("type") == "function" or "parameters" in value)
        and ((value.get("function") or value).get("name") in OWN_TOOLS)
    )


def without_own_tools(text: str) -> str:
    """A system prompt without the lines that list them."""
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if not line.startswith(tuple(f"- {name}: " for name in OWN_TOOLS))
        and line.rstrip("\n") not in [f"- {name}" for name in OWN_TOOLS]
    )


def text(normal_text: str, session: Session) -> str:
    """A text without paths, ids and times."""
    folder = str(session.place.folder)
    normal_text = (
        without_own_tools(normal_text)
        .replace(folder, "FOLDER")
        .replace(folder.lstrip("/"), "FOLDER")
        .replace(re.sub(r"\W", "-", folder), "FOLDER")
    )
    for pattern, name in PATTERNS:
        normal_text = pattern.sub(name, normal_text)
    return normal_text


def entries(path: Path) -> list[Any]:
    """The values of a JSON or JSONL file."""
    content = path.read_text(encoding="utf-8", errors="replace")
    try:
        return [json.loads(content)]
    except ValueError:
        return [json.loads(line) for line in content.splitlines()]


def subtype(entry: dict[str, Any]) -> str | None:
    """What kind of entry, where its `type` alone does not say it."""
    return entry.get("subtype") or (entry.get("attachment") or {}).get("type")


def restates(client: str, entry: dict[str, Any]) -> bool:
    """Whether an entry begins a file or repeats its messages: Gemini has a process a prompt, and a file a minute."""
    return client == "gemini" and ("projectHash" in entry or "$set" in entry)


def transcript(session: Session) -> list[Any]:
    """The client's own session files, without what it keeps of hooks."""
    client = session.case.client
    files = sorted((session.place.folder / "out" / "transcripts").iterdir())
    lines = [
        entry
        for file in files
        for entry in entries(file)
        if entry.get("type") not in OF_THE_CLIENT.get(client, ())
        and subtype(entry) not in OF_HOOKS.get(client, ())
        and not restates(client, entry)
    ]
    return [normal(entry, session) for entry in lines]


def requests(session: Session) -> list[Any]:
    """What the model received: the conversation in order, then the summariser's requests, which run beside it and,
    where pi splits a turn, beside each other.
    """
    received = [(request.rule, normal(request.body, session)) for request in session.requests]
    conversation = [body for rule, body in received if rule is None]
    beside = sorted(
        ((rule or "", json.dumps(body), body) for rule, body in received if rule is not None), key=lambda row: row[:2]
    )
    return [*conversation, *(body for _, _, body in beside)]


def configuration(session: Session) -> dict[str, Any]:
    """The client's settings after the session, without our hooks."""
    files: dict[str, Any] = {}
    for name in CONFIGURATION[session.case.client]:
        path = session.place.home / name
        if not path.exists():
            continue
        (settings,) = entries(path)
        settings.pop("hooks", None)
        settings.pop("plugins", None)
        if settings:
            files[name] = normal(settings, session)
    return files
