"""Commands that archived sessions ran: forms that worked (`how`), and what worked after an error (`fix`)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import apsw

from core import clock, shell_command, words
from core.quoting import clip
from core.store import calls as stored_calls
from core.store import sessions
from core.store.search import LocalCandidates
from memory.archive.texts import is_error_line
from session.notes import command_runs

_MOST_SEEN, _LONG, _WORD_CHARS, _SAID_CHARS = 3_000, 240, 80, 400
_ORDER = ("ok", "", "running", "failed", "stopped")
_LIKE, _REST, _MOST_STEPS, _MOST_AFTER = 0.6, 0.03, 4, 60
"""How like an error a line is at least; what the rest of a paste counts beside the line. Calls told before a run, and
looked at for what was done."""
_MOST_LINES, _MOST_TURNS = 8, 100
_EDITS = ("edit", "write", "multi", "apply", "patch", "update")


def ways(db: apsw.Connection, text: str, most: int) -> list[dict[str, Any]]:
    """Commands with most of these words, each form once: those that have them in a row, those that worked, those alone,
    the latest first."""
    terms, in_row = _terms(text), f" {' '.join(words.split(text))} "
    forms: dict[tuple[str, ...], dict[str, Any]] = {}
    ranked: dict[tuple[str, ...], tuple[Any, ...]] = {}
    for place in stored_calls.latest_commands(db, terms, _MOST_SEEN):
        if (call := stored_calls.by_number(db, *place)) is None:
            continue
        run = [step for step in shell_command.steps(call["command"]) if step["program"] != "cd"]
        inside = words.split(" ".join(word for step in run for word in step["words"] if len(word) <= _WORD_CHARS))
        held = sum(any(word.startswith(term) for word in inside) for term in terms)
        key = tuple(" ".join(step["words"]) for step in run if shell_command.does(step)) or (call["command"],)
        outcome = shell_command.told(call["command"], call["outcome"])
        if not held or outcome == stored_calls.FORGOTTEN:
            continue
        is_program = any(step["program"] == text.split()[0] for step in run)
        more = not is_program, len(run) > 1, len(call["command"]) > _LONG
        rank = (-held - (in_row in f" {' '.join(inside)} ") / 2, _ORDER.index(outcome), *more, -(call["at"] or 0))
        known = forms.get(key)
        if known is None or rank < ranked[key]:
            forms[key], ranked[key] = {**_told(call), "runs": known["runs"] if known else 0}, rank
        forms[key]["runs"] += 1
    best = min(ranked.values(), default=(0,))[0]
    return [forms[key] for key in sorted(forms, key=ranked.__getitem__) if ranked[key][0] * 2 < best][:most]


def endings(db: apsw.Connection, error: str, most: int) -> list[dict[str, Any]]:
    """Calls that ended with an error like this one and prompts that it was pasted in, the likest and latest first: what
    the agent said first then, what it did, how the program ran next, and the run that first worked."""
    telling = [line for line in error.splitlines() if is_error_line(line)] or error.splitlines()
    asked = [_told_by(line) for line in telling[:_MOST_LINES] if not words.STOP_WORDS.issuperset(words.split(line))]
    different: dict[tuple[str, str], dict[str, Any]] = {}
    for met in sorted(_alike(db, asked, {*words.split(error)}), key=lambda one: (-one["like"], -(one["at"] or 0))):
        different.setdefault((met["session"], met["command"] or met["file"]), met)
    best = list(different.values())[:most]
    return [{**_told(met), "like": round(met["like"], 2), **_followed(db, met)} for met in best]


def _alike(db: apsw.Connection, asked: Sequence[list[str]], whole: set[str]) -> Iterator[dict[str, Any]]:
    """Calls and prompts with a line like one of the errors: by its words, those that stand side by side and, for a
    little, the `whole` of what was pasted."""
    for call, lines in _with_words(db, list({term: None for terms in asked for term in terms})):
        best = 0.0, ""
        for line in lines:
            inside = words.split(line[:_LONG])
            beside = {*inside, *pairwise(inside)}
            rest = _REST * (len(whole.intersection(inside)) / len(whole) - 1)
            for terms in asked:
                parts = [*terms, *pairwise(terms)]
                like = sum(part in beside for part in parts) / len(parts)
                best = max(best, (like + rest, line.strip()[:_LONG]))
        if best[0] >= _LIKE:
            yield {**call, "error": best[1], "like": best[0]}


def _with_words(db: apsw.Connection, terms: Sequence[str]) -> Iterator[tuple[Any, Sequence[str]]]:
    """Calls that failed or may have and, as a call without a number, prompts, with their lines: the best of words."""
    for call in stored_calls.holding_any(db, terms, {}) if terms else ():
        if shell_command.told(call["command"], call["outcome"]) not in ("ok", stored_calls.FORGOTTEN):
            yield call, [call["error"], *call["passage"].splitlines()]
    turns = LocalCandidates(db, vectors=False)
    found = turns.candidates(terms, b"", {"collections": ("episodes",)}, _MOST_TURNS, 0)
    for turn in turns.documents([one["rowid"] for one in found]):
        if turn["text"].startswith("user: ") and turn["session_id"] and turn["forgotten_at"] is None:
            none = {"number": 0, "tool": "", "file": "", "command": "", "outcome": "", "folder": ""}
            about = {"session": turn["session_id"], "project": turn["project"], "client": turn["source"]}
            yield {**none, **about, "id": turn["id"], "at": turn["created_at"]}, turn["text"][6:].splitlines()


def _told_by(line: str) -> list[str]:
    """The words that tell an error: numbers and paths may differ, unless there is nothing else."""
    plain = " ".join(chunk for chunk in line.split() if "/" not in chunk)
    return [word for word in _terms(plain) if word and not word[0].isdigit()] or _terms(line)


def _followed(db: apsw.Connection, met: Any) -> dict[str, Any]:
    """What is recorded behind an error: what was said first, what was done before its program, or a check, ran next
    (behind an edit, where there was one), that run, and the first that worked."""
    number, at = met["number"], met["at"] or 0
    calls = stored_calls.of_session(db, met["session"], last=1 << 30)
    after = [one for one in calls if one["number"] > number and (number or (one["at"] or 0) >= at)]
    wanted = _kinds(met) if number else set()
    runs = [
        one
        for one in after
        if (wanted & _kinds(one, words_too=True) if wanted else command_runs.is_check(one["command"]))
    ]
    edited = [one["number"] for one in after[:_MOST_AFTER] if one["tool"].lower().startswith(_EDITS)]
    following = next((one for one in runs if one["number"] > (edited or [0])[0]), runs[0] if runs else None)
    worked = next((one for one in runs if shell_command.told(one["command"], one["outcome"]) == "ok"), None)
    did = [
        f"{one['tool']} {one['file']}" if one["file"] else f"$ {clip(' '.join(one['command'].split()), _LONG)}"
        for one in after[: after.index(following) if following else _MOST_AFTER][:_MOST_AFTER]
        if one["outcome"] != "failed"
        and (one["number"] in edited or (one["command"].strip() and not shell_command.only_looks(one["command"])))
    ]
    turns = sessions.last_turns(db, met["session"], 1 << 30, until=(worked and worked["at"]) or 1 << 62)
    said = (text[len("assistant: ") :] for _, text, when in turns if when > at and text.startswith("assistant: "))
    told = [run and {**_told({**met, **run}), "callsLater": after.index(run) + 1} for run in (following, worked)]
    return {
        "did": list(dict.fromkeys(did))[-_MOST_STEPS:], "said": clip(" ".join(next(said, "").split()), _SAID_CHARS),
        "next": told[0], "ended": told[1],
    }  # fmt: skip


def _kinds(call: Any, *, words_too: bool = False) -> set[str]:
    """What a call ran, by program and verb, or program alone; by its `words_too`, since another may run it."""
    if not call["command"] or call["file"]:
        return {f"{call['tool']} {call['file']}"}
    run = [step for step in shell_command.steps(call["command"]) if shell_command.does(step)]
    used = {word for step in run for word in (step["words"] if words_too else [step["program"]] * (not step["verb"]))}
    return used | {command_runs.kind_of(step) for step in run}


def _told(call: Any) -> dict[str, Any]:
    called = call["number"]
    return {
        "id": f"call:{call['session']}:{called}" if called else call["id"], "tool": call["tool"], "file": call["file"],
        "command": call["command"], "outcome": shell_command.told(call["command"], call["outcome"]),
        "error": call["error"], "folder": call["folder"], "at": clock.iso(call["at"]), "session": call["session"],
        "project": call["project"], "client": call["client"], "origin": "tool" if called else "prompt",
    }  # fmt: skip


def _terms(text: str) -> list[str]:
    terms = [word for word in dict.fromkeys(words.split(text)) if word not in words.STOP_WORDS]
    return terms[: words.MAX_QUERY_WORDS] or words.split(text)[:1] or [""]
