"""What joelclaw is held against, on the same compactions: the client's summary, a ranked list of names, and deja-vu."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

from recovery_score import ANSWER_CHARS, Score, ask_by_name, score
from recovery_session import Needed, Session, identifiers

LIST_CHARS = 700
MORE_CHARS = 6_000
DEJA = "deja"
_DEJA_S = 60
# Where the clients keep their sessions below a home.
_FOLDERS = {
    "claude": ".claude/projects/-work",
    "codex": ".codex/sessions/2026/01/01",
    "gemini": ".gemini/tmp/project/chats",
    "pi": ".pi/agent/sessions/--work--",
}


def summary_alone(session: Session, compaction: int, needed: Needed) -> Score:
    """The client's own summary. Of the needed names it holds none: those that it holds do not count as needed."""
    return score(session, compaction, needed, session.kept(compaction))


def known_and_used_next(session: Session, compaction: int) -> set[str]:
    """The identifiers of the next 40 tool calls that had stood in the session before the compaction."""
    return session.used_next(compaction + 1) & session.names_before(compaction)


def ranked(session: Session, compaction: int) -> list[str]:
    """The identifiers that the client does not keep, best first: log(1 + count) × recency.

    Count: the prompts, answers, calls and outputs in which it stands. Recency: the number of the tool call at which it
    stood last, as a share of all.
    """
    count: Counter[str] = Counter()
    last: dict[str, int] = {}
    calls = 0
    for moment in session.moments[:compaction]:
        calls += moment.kind == "call"
        names = identifiers(moment.text)
        count.update(names)
        last.update(dict.fromkeys(names, calls))
    lost = set(count) - identifiers(session.kept(compaction))
    return sorted(lost, key=lambda name: (-math.log1p(count[name]) * last[name] / max(1, calls), name))


def plain_list(session: Session, compaction: int, needed: Needed) -> Score:
    """As much of the ranked list as fits into 700 characters, and with it the next 6,000."""
    names = ranked(session, compaction)
    first = _fitting(names, LIST_CHARS)
    rest = _fitting(names[len(first) :], MORE_CHARS)
    return score(session, compaction, needed, ", ".join(first), ", ".join(rest))


def _fitting(names: list[str], room: int) -> list[str]:
    """The first names that fit into so many characters, put together with commas."""
    found: list[str] = []
    for name in names:
        room -= len(name) + 2 * bool(found)
        if room < 0:
            break
        found.append(name)
    return found


def deja(session: Session, compaction: int, needed: Needed, names: list[str], home: Path) -> Score | None:
    """deja-vu, the peer: its block after the compaction, and its search for each name; None where it is not on PATH.

    Args:
        names: the same sample that joelclaw is asked for.
        home: an empty folder, in which the session lies as it was before the compaction.
    """
    command = shutil.which(DEJA)
    if command is None:
        return None
    folder = home / _FOLDERS[session.client]
    folder.mkdir(parents=True)
    stem = f"rollout-2026-01-01T00-00-00-{session.id}" if session.client == "codex" else session.id
    transcript = folder / f"{stem}.jsonl"
    transcript.write_bytes(b"".join(session.lines[: session.moments[compaction].line]))

    def ask(*words: str, given: str = "") -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
        try:
            done = subprocess.run(
                [command, *words], input=given, capture_output=True, text=True, env=environment, cwd=home,
                timeout=_DEJA_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout

    about = {"session_id": session.id, "transcript_path": str(transcript), "cwd": session.cwd}
    ask("index")
    ask("hook-precompact", given=json.dumps({**about, "hook_event_name": "PreCompact", "trigger": "auto"}))
    after = {**about, "hook_event_name": "SessionStart", "source": "compact"}
    text = ask("hook-context", "--plain", given=json.dumps(after)).strip()[:ANSWER_CHARS]
    return score(session, compaction, needed, text) + ask_by_name(names, lambda name: ask("search", name))
