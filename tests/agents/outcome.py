"""What happened in a run: compactions, requests, and the facts that the model could still see after the last one."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness import Run, objects

SECOND_LOOK = "Critically evaluate"
"""Gemini asks twice for a summary: the second request, which checks the first answer, holds this."""


def inside(value: Any, test: Callable[[dict[str, Any]], bool]) -> Iterator[dict[str, Any]]:
    """Every object inside a value, itself included, that passes the test."""
    if isinstance(value, dict):
        if test(value):
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from inside(part, test)


def compactions(run: Run, asked: list[dict[str, Any]], client: str) -> int:
    """Compactions that the client itself recorded; Gemini records none, so its requests for a summary count."""
    if client == "gemini":
        summaries = [request for request in asked if request.get("rule") == "compact"]
        return sum(1 for one in summaries if SECOND_LOOK not in json.dumps(one["body"].get("contents", [])[-1:]))
    found = 0
    for file in sorted(run.transcripts.iterdir()):
        if file.suffix == ".jsonl":
            found += sum(1 for entry in objects(file) if run.client.is_compaction(entry))
            continue
        try:
            whole = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            continue
        found += sum(1 for _entry in inside(whole, run.client.is_compaction))
    return found


def facts(script: dict[str, Any], asked: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Which of the script's facts the model could still see; None without a compaction. `ever_sent` is the control."""
    needles = [fact["needle"] for fact in script.get("facts", [])]
    last = max((i for i, request in enumerate(asked) if request.get("rule") == "compact"), default=None)
    if not needles or last is None:
        return None
    texts = [
        (i, json.dumps(request["body"], ensure_ascii=False))
        for i, request in enumerate(asked)
        if request.get("rule") is None
    ]
    after = [text for i, text in texts if i > last]

    def seen(text: str) -> list[str]:
        return [needle for needle in needles if needle in text]

    return {
        "total": len(needles),
        "ever_sent": len(seen("\n".join(text for _i, text in texts))),
        "in_summary": seen(json.dumps(asked[last]["reply"], ensure_ascii=False)),
        "in_first_request_after": seen(after[0]) if after else [],
        "in_last_request": seen(after[-1]) if after else [],
    }


def summary(run: Run, client: str, script: dict[str, Any], prompts: int, *, timed_out: bool) -> dict[str, Any]:
    """What OUT/summary.json holds."""
    log = run.requests()
    asked = [request for request in log if "n" in request]
    steps = len(script.get("steps", []))
    rules: dict[str, int] = {}
    for request in asked:
        name = request["rule"] or ("step" if request["step"] < steps else "default")
        rules[name] = rules.get(name, 0) + 1
    refused = {re.sub(r"^https?://([^/]+).*", r"\1", request["egress"]) for request in log if "egress" in request}
    return {
        "client": client,
        "version": installed_version(run.command.parent.parent.parent, run.client),
        "compactions": compactions(run, asked, client),
        "requests": len(asked),
        "exit_codes": run.exit_codes,
        "wall_s": round(time.monotonic() - run.began, 1),
        "timed_out": timed_out,
        "prompts": prompts,
        "requests_by_rule": rules,
        "steps_unused": max(0, steps - rules.get("step", 0)),
        "egress_refused": sorted(refused),
        "transcripts": sorted(file.name for file in run.transcripts.iterdir()),
        "facts": facts(script, asked),
    }


def installed_version(folder: Path, client: Any) -> str | None:
    """The version that lies in the folder; None without one."""
    package = folder / "node_modules" / client.PACKAGE / "package.json"
    if not package.exists():
        return None
    version: str = json.loads(package.read_text(encoding="utf-8"))["version"]
    return version
