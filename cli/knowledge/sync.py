"""`joelclaw knowledge sync` and `knowledge note`: what goes into the collection `knowledge`."""

import os
from typing import Any

from cli import bulk
from cli.answer import Answer, quoted, step
from core import clock, config
from core.errors import usage
from core.store import documents, sqlite
from memory.knowledge import decisions, sync, vault
from otel import log
from otel.event import new_event

_EVENT_COUNTS = ("files", "sections", "added", "updated", "removed", "unchanged", "ms")
_TOLD = {"Loop": "loop_id", "Story": "story_id", "Run": "run_id"}
_MOST_EVIDENCE, _MOST_TAGS = 30, 20


def run(options: dict[str, Any]) -> Answer:
    """Bring the store in step with the folders."""
    settings = config.load()
    with bulk.bar("syncing") as (started, advance):
        result, db = sync.sync_folders(
            _folders(options), prune=options["prune"], config=settings, now=clock.now_ms(), started=started,
            progress=advance,
        )  # fmt: skip
    indexed = result["indexed"]
    kept = documents.sections_by_file(db)
    indexed["adrs"] = sum(f"/{decisions.FOLDER}/" in path for path in kept)
    indexed["skills"] = sum(path.endswith("/SKILL.md") for path in kept)
    about = {**{name: indexed[name] for name in _EVENT_COUNTS}, "skipped_count": indexed["skippedCount"]}
    made = new_event(
        "knowledge.sync.completed", component="knowledge-cli", metadata=about, duration_ms=indexed["ms"],
        now=clock.now_ms(),
    )  # fmt: skip
    log.store_spooled([made], db)
    steps = []
    if result["missing"]:
        why = "folders are gone or empty; nothing was removed yet; this removes them"
        steps.append(step("joelclaw knowledge sync --prune", why))
    if indexed["sections"]:
        query = {"query": {"description": "what to look for", "required": True}}
        steps.append(step("joelclaw knowledge search <query>", "search what was imported", query))
    return Answer(result, steps)


def _folders(options: dict[str, Any]) -> list[str]:
    """The folders that are named, by themselves or by what they hold."""
    only = [name for name in ("adrs_only", "skills_only") if options[name]]
    if not only:
        return list(options["dirs"])
    if options["dirs"]:
        raise usage("KNOWLEDGE_INVALID_ARGS", "--adrs-only and --skills-only name folders themselves", "leave DIR out")
    skills = os.environ.get("JOELCLAW_SKILLS_DIR", "").strip()
    if "skills_only" in only and not skills:
        fix = "set JOELCLAW_SKILLS_DIR, or name it: joelclaw knowledge sync ~/skills"
        raise usage("KNOWLEDGE_NO_FOLDERS", "where the skills are is not known", fix)
    return [skills if name == "skills_only" else os.path.join(vault.root(), decisions.FOLDER) for name in only]


def note(options: dict[str, Any]) -> Answer:
    """Keep what a turn came to, or with `--skip-reason` only an event that there was nothing to keep."""
    given: dict[str, Any] = {
        name: value.strip() if isinstance(value, str) else value for name, value in options.items()
    }
    skipped, summary = given["skip_reason"], given["summary"]
    missing = [f"--{name}" for name in ("source", "agent", "session", "turn") if given[name] in (None, "")]
    if missing or not (skipped or summary):
        raise usage(
            "INVALID_KNOWLEDGE_NOTE",
            f"{missing[0]} is not given" if missing else "--summary is not given, nor a --skip-reason",
            "give all it takes: joelclaw knowledge note --source cli --agent me --session s1 --turn 1"
            " --summary 'what came of it'",
        )
    place = (given["source"], given["agent"], given["channel"] or "internal", given["session"], str(given["turn"]))
    turn = given["turn_id"] or ":".join(place)
    settings = config.load()
    now = clock.now_ms()
    response: dict[str, Any] = {"ids": []}
    steps = [step("joelclaw otel search knowledge.turn_write --hours 1", "the events of such notes")]
    if not skipped:
        usefulness = ["-".join(tag.lower().split()) for tag in _listed(given["usefulness"], _MOST_TAGS)]
        about = {
            "Decision": given["decision"] or "",
            "Evidence": ", ".join(_listed(given["evidence"], _MOST_EVIDENCE)),
            "Tools": ", ".join(_listed(given["tools"], _MOST_TAGS)),
            **{title: given[name] or "" for title, name in _TOLD.items()},
        }
        tags = ["turn_note", given["source"], given["agent"], given["channel"] or "", *usefulness]
        db = sqlite.open_writing(busy_ms=settings.get_int("store.busy_ms"), durable=True)
        whose = {"session": given["session"], "project": given["project"] or ""}
        key, redacted = sync.store_note(db, turn, summary, **whose, tags=tags, about=about, now=now)
        response = {"ids": [key], "redacted": redacted}
        words = quoted(" ".join(summary.split()[:8]))
        steps.insert(0, step(f"joelclaw knowledge search {words} --type turn_note", "find it again"))
    what = "knowledge.turn_write." + ("skipped" if skipped else "completed")
    told = {"turnId": turn, "agent": given["agent"], "skipReason": skipped}
    made = new_event(what, component="knowledge-cli", metadata=told, session=given["session"], now=now)
    log.store_spooled([made])
    result = {"queued": True, "event": "knowledge/turn.write.requested", "turnId": turn, "skipReason": skipped}
    return Answer({**result, "stored": not skipped, "response": response}, steps)


def _listed(text: str | None, most: int) -> list[str]:
    """The entries of a comma-separated list, each once, at most so many."""
    return list(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip()))[:most]
