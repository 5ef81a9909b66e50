"""Commands that archived sessions ran: forms that worked (`how`), and what worked after an error (`fix`)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

import apsw

from core import clock, shell_command, words
from core.quoting import clip
from core.records import FoundCall
from core.store import overview
from core.store.sessions import call_rows, found_calls, session_rows
from recall.by_name import command_outcome
from session.inject import checks

_MOST_SEEN, _LONG, _WORD_CHARS, _SAID_CHARS = 3_000, 240, 80, 400
_ORDER = ("ok", "", "running", "failed", "stopped")
_LIKE, _MOST_STEPS, _MOST_SAID = 0.6, 4, 400
"""How like an error a line is: the share of its words, and of its pairs of words. Calls told before an end."""


def ways(db: apsw.Connection, text: str, most: int) -> list[dict[str, Any]]:
    """Commands with most of these words, each form once: those that worked, those alone, the latest first."""
    terms = _terms(text)
    forms: dict[tuple[str, ...], dict[str, Any]] = {}
    ranked: dict[tuple[str, ...], tuple[Any, ...]] = {}
    for place in overview.latest_commands(db, terms, _MOST_SEEN):
        if (call := found_calls.one(db, *place)) is None:
            continue
        run = [step for step in shell_command.steps(call["command"]) if step["program"] != "cd"]
        inside = words.split(" ".join(word for step in run for word in step["words"] if len(word) <= _WORD_CHARS))
        held = sum(any(word.startswith(term) for word in inside) for term in terms)
        key = tuple(" ".join(step["words"]) for step in run if shell_command.does(step)) or (call["command"],)
        outcome = command_outcome.told(call["command"], call["outcome"])
        if not held or outcome == call_rows.FORGOTTEN_CALL:
            continue
        is_program = any(step["program"] == text.split()[0] for step in run)
        more = not is_program, len(run) > 1, len(call["command"]) > _LONG
        rank = (-held, _ORDER.index(outcome), *more, -(call["at"] or 0))
        known = forms.get(key)
        if known is None or rank < ranked[key]:
            forms[key], ranked[key] = {**_told(call), "runs": known["runs"] if known else 0}, rank
        forms[key]["runs"] += 1
    best = min(ranked.values(), default=(0,))[0]
    return [forms[key] for key in sorted(forms, key=ranked.__getitem__) if ranked[key][0] * 2 < best][:most]


def endings(db: apsw.Connection, error: str, most: int) -> list[dict[str, Any]]:
    """Calls that ended with an error like this one, the latest first, those before whose end is known: what was done
    between, what the agent said first, and the call that then worked (None where none did in that session)."""
    terms = [term for term in _terms(error) if not term.isdigit()] or _terms(error)
    found: list[dict[str, Any]] = []
    seen: set[tuple[str, str]] = set()
    for share, call in sorted(_alike(db, terms), key=lambda one: (-one[0], -(one[1]["at"] or 0))):
        key = call["session"], call["command"] or call["file"]
        if key not in seen and len(found) < most * 3:
            seen.add(key)
            found.append({**_told(call), "like": round(share, 2), **_end_of(db, call)})
    return sorted(found, key=lambda one: one["ended"] is None)[:most]


def _alike(db: apsw.Connection, terms: Sequence[str]) -> Iterator[tuple[float, FoundCall]]:
    pairs = list(pairwise(terms)) or [(terms[0], "")]
    calls = [*found_calls.holding_all(db, terms, {}), *found_calls.holding_any(db, terms, {})]
    for call in {one["rowid"]: one for one in calls}.values():
        ended = command_outcome.told(call["command"], call["outcome"])  # of `make | tail` an `ok` says nothing
        lines = [call["error"], *call["passage"].splitlines()] if ended != "ok" else []
        shares = [0.0]
        for inside in map(words.split, lines):
            beside = {*pairwise(inside), *((word, "") for word in inside)}
            shares.append(
                (sum(term in inside for term in terms) / len(terms) + len(beside & {*pairs}) / len(pairs)) / 2
            )
        if max(shares) >= _LIKE:
            yield (1 if call["outcome"] == "failed" else 0.5) * max(shares), call


def _end_of(db: apsw.Connection, failed: FoundCall) -> dict[str, Any]:
    """The first call behind it of the same program and verb, or tool and file, that worked; and what led there."""
    wanted = _kinds(failed, "program")
    after = [call for call in call_rows.calls(db, failed["session"], last=1 << 30) if call["number"] > failed["number"]]
    runs = (one for one in after if command_outcome.told(one["command"], one["outcome"]) == "ok")
    worked = next((one for one in runs if wanted & _kinds(one, "words")), None)
    if worked is None:
        return {"did": [], "said": "", "ended": None}
    between = [one for one in after if one["number"] < worked["number"] and one["outcome"] != "failed"]
    did = [
        f"{one['tool']} {one['file']}" if one["file"] else f"$ {clip(' '.join(one['command'].split()), _LONG)}"
        for one in between
        if one["tool"].lower().startswith(("edit", "write", "multi", "apply", "patch", "update"))
        or (one["command"].strip() and not shell_command.only_looks(one["command"]))
    ]
    turns = session_rows.last_turns(db, failed["session"], _MOST_SAID, until=worked["at"] or 0)
    since = [text.partition(": ") for _, text, at in turns if at >= (failed["at"] or 0)]
    said = [text for speaker, _, text in since if speaker == "assistant" and text.strip()]
    return {
        "did": list(dict.fromkeys(did))[-_MOST_STEPS:],
        "said": clip(" ".join(said[0].split()), _SAID_CHARS) if said else "",
        "ended": {**_told({**failed, **worked}), "callsLater": worked["number"] - failed["number"]},
    }


def _kinds(call: Any, also: Literal["program", "words"]) -> set[str]:
    """What a call ran, by program and verb, and by its `program`, or by all its `words`: another may run it."""
    if not call["command"] or call["file"]:
        return {f"{call['tool']} {call['file']}"}
    run = [step for step in shell_command.steps(call["command"]) if shell_command.does(step)]
    more = {step["program"] for step in run} if also == "program" else {word for step in run for word in step["words"]}
    return more | {checks.kind_of(step) for step in run}


def _told(call: FoundCall) -> dict[str, Any]:
    return {
        "id": f"call:{call['session']}:{call['number']}", "tool": call["tool"], "file": call["file"],
        "command": call["command"], "outcome": command_outcome.told(call["command"], call["outcome"]),
        "error": call["error"], "folder": call["folder"], "at": clock.iso(call["at"]), "session": call["session"],
        "project": call["project"], "client": call["client"],
    }  # fmt: skip


def _terms(text: str) -> list[str]:
    terms = [word for word in dict.fromkeys(words.split(text)) if word not in words.STOP_WORDS]
    return terms[: words.MAX_QUERY_WORDS] or words.split(text)[:1] or [""]
