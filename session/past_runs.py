"""Commands that archived sessions ran: forms that worked (`how`), and what worked after an error (`fix`)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import apsw

from core import clock, project, shell_command, words
from core.quoting import clip
from core.records import Call
from core.store import calls as stored_calls
from core.store import sessions
from memory.archive.texts import is_error_line
from session import command_runs

LONG = 240  # characters of a line or a command; more is not compared or shown


def ways(db: apsw.Connection, text: str, most: int, own: str) -> list[dict[str, Any]]:
    """Commands that contain most of these words, each form once; those of the project `own` come first.

    Then those with the words in a row, then those that worked, then those that do nothing else, then the latest.
    """
    terms, in_row = _terms(text), f" {' '.join(words.split(text))} "
    outcomes = ("ok", "", "running", "failed", "stopped")
    best: dict[tuple[Any, ...], tuple[tuple[Any, ...], Call]] = {}
    runs: Counter[tuple[Any, ...]] = Counter()
    for place in stored_calls.latest_commands(db, terms, 3_000):
        if (call := stored_calls.by_number(db, *place)) is None:
            continue
        steps = [step for step in shell_command.steps(call["command"]) if step["program"] != "cd"]
        inside = words.split(" ".join(word for step in steps for word in step["words"] if len(word) <= 80))
        matched = sum(any(word.startswith(term) for word in inside) for term in terms)
        is_other = _is_other(call, own)
        does = [" ".join(step["words"]) for step in steps if shell_command.does(step)] or [call["command"]]
        form = (is_other, *does)
        outcome = shell_command.reliable_outcome(call["command"], call["outcome"])
        if not matched or outcome == stored_calls.FORGOTTEN:
            continue
        score = matched + (in_row in f" {' '.join(inside)} ") / 2
        is_program = any(step["program"] == text.split()[0] for step in steps)
        does_more = not is_program, len(steps) > 1, len(call["command"]) > LONG
        rank = (-score, outcomes.index(outcome), *does_more, -(call["at"] or 0))
        runs[form] += 1
        if form not in best or rank < best[form][0]:
            best[form] = rank, call
    best_score = min((rank[0] for rank, _ in best.values()), default=0)
    # A form with at most half of the best form's score is left out.
    close = [(form, rank, call) for form, (rank, call) in best.items() if rank[0] * 2 < best_score]
    close.sort(key=lambda entry: (entry[0][0], entry[1]))
    return [{**_as_result(call, own), "runs": runs[form]} for form, _, call in close[:most]]


def endings(db: apsw.Connection, error: str, most: int, own: str) -> list[dict[str, Any]]:
    """Calls that ended with an error like this: first those of the project `own`, then the most similar and latest.

    Each says what the agent answered, what it did, and how its program ran in the end.
    """
    lines = [line for line in error.splitlines() if is_error_line(line)] or error.splitlines()
    errors: list[list[str]] = []  # numbers and paths may differ, unless a line has nothing else
    for line in lines[:8]:
        if not words.STOP_WORDS.issuperset(words.split(line)):
            terms = _terms(" ".join(chunk for chunk in line.split() if "/" not in chunk))
            errors.append([word for word in terms if word and not word[0].isdigit()] or _terms(line))
    found = sorted(
        _similar(db, errors, {*words.split(error)}),
        key=lambda call: (_is_other(call, own), -call["like"], -(call["at"] or 0)),
    )
    different: dict[tuple[str, str], dict[str, Any]] = {}
    for call in found:
        different.setdefault((call["session"], call["command"] or call["file"]), call)
    return [
        {**_as_result(call, own), "like": round(call["like"], 2), **_aftermath(db, call, own)}
        for call in list(different.values())[:most]
    ]


def way_out(db: apsw.Connection, error: str, own: str, *, without: str) -> list[str]:
    """How an earlier session of this project got out of the same error, in lines for an agent; [] if none did."""
    for found in endings(db, error, 5, own):
        ended, is_same = found["ended"], {*words.split(found["error"])} <= {*words.split(error)}
        is_known = ended and ended["outcome"] == "ok" and (found["did"] or ended["command"] != found["command"])
        if not (is_same and is_known) or found["isOtherProject"] or found["session"] == without:
            continue
        known = (("said", found["said"]), ("did", " · ".join(found["did"])), ("then worked", ended["command"]))
        head = f"A session had this error before ({found['at'][:10]}): {clip(found['error'], LONG)}"
        return [head, *(f"- {name}: {clip(text, LONG)}" for name, text in known if text)]
    return []


def _similar(db: apsw.Connection, errors: Sequence[list[str]], whole: set[str]) -> Iterator[dict[str, Any]]:
    """Calls that failed, or may have, with a line like one of the errors.

    A line is compared by its words, by pairs of words next to each other and, a little, by the `whole` pasted text.
    """
    every = list({term: None for terms in errors for term in terms})
    for call in stored_calls.holding_any(db, every, {}) if every else ():
        if shell_command.reliable_outcome(call["command"], call["outcome"]) in ("ok", stored_calls.FORGOTTEN):
            continue
        best = 0.0, ""
        for line in (call["error"], *call["passage"].splitlines()):
            inside = words.split(line[:LONG])
            parts_inside = {*inside, *pairwise(inside)}
            rest = 0.03 * (len(whole.intersection(inside)) / len(whole) - 1)
            for terms in errors:
                parts = [*terms, *pairwise(terms)]
                like = sum(part in parts_inside for part in parts) / len(parts)
                best = max(best, (like + rest, line.strip()[:LONG]))
        if best[0] >= 0.6:
            yield {**call, "error": best[1], "like": best[0]}


def _aftermath(db: apsw.Connection, failed: Any, own: str) -> dict[str, Any]:
    """What the agent said and did after an error, until its program ran again; and the run that worked, else the next.

    If the agent edited a file, the run after that edit counts as the next.
    """
    number, at = failed["number"], failed["at"] or 0
    calls = stored_calls.of_session(db, failed["session"], last=1 << 30)
    after = [call for call in calls if call["number"] > number]
    kinds, most = _kinds(failed), 60  # calls after the error
    runs = [call for call in after if kinds & _kinds(call, with_words=True)]
    edited = next((call["number"] for call in after[:most] if _is_edit(call)), 0)
    following = next((call for call in runs if call["number"] > edited), runs[0] if runs else None)
    ok = (call for call in runs if shell_command.reliable_outcome(call["command"], call["outcome"]) == "ok")
    ended = next(ok, following)
    until = after.index(following) if following else most
    did = [
        f"{call['tool']} {call['file']}" if call["file"] else f"$ {clip(' '.join(call['command'].split()), LONG)}"
        for call in after[: min(until, most)]
        if call["outcome"] != "failed"
        and (_is_edit(call) or (call["command"].strip() and not shell_command.only_looks(call["command"])))
    ]
    turns = sessions.last_episodes(db, failed["session"], 1 << 30, until=(ended and ended["at"]) or 1 << 62)
    answers = (text[len("assistant: ") :] for _, text, when in turns if when > at and text.startswith("assistant: "))
    return {
        "did": list(dict.fromkeys(did))[-4:],
        "said": clip(" ".join(next(answers, "").split()), 400),
        "ended": ended and _as_result({**failed, **ended}, own),
    }


def _is_edit(call: Any) -> bool:
    verbs = ("edit", "write", "multi", "apply", "patch", "update", "replace", "create", "str_replace")
    # a command has a file if it hands over a patch
    is_editor = call["file"] and (call["command"] or call["tool"].lower().startswith(verbs))
    return bool(is_editor) or shell_command.edits_files(call["command"])


def _kinds(call: Any, *, with_words: bool = False) -> set[str]:
    """What a call ran, by program and verb; `with_words` by all of its words, since another program may run it."""
    if not call["command"] or call["file"]:
        return {f"{call['tool']} {call['file']}"}
    steps = [step for step in shell_command.steps(call["command"]) if shell_command.does(step)]
    used = {
        word for step in steps for word in (step["words"] if with_words else [step["program"]] * (not step["verb"]))
    }
    return used | {command_runs.kind_of(step) for step in steps}


def _is_other(call: Any, own: str) -> bool:
    """Whether another project ran a call. A project without an owner may be any folder of that name."""
    own_names = {own.lower(), project.without_host(own).lower() or own.lower()}
    return call["project"].lower() not in own_names


def _as_result(call: Any, own: str) -> dict[str, Any]:
    """A call for the answer. It says whether another project ran it, which may be hostile."""
    return {
        "id": f"call:{call['session']}:{call['number']}", "tool": call["tool"], "file": call["file"],
        "command": call["command"], "outcome": shell_command.reliable_outcome(call["command"], call["outcome"]),
        "error": call["error"], "folder": call["folder"], "at": clock.iso(call["at"]), "session": call["session"],
        "project": call["project"], "isOtherProject": _is_other(call, own),
        "client": call["client"], "origin": "tool",
    }  # fmt: skip


def _terms(text: str) -> list[str]:
    terms = [word for word in dict.fromkeys(words.split(text)) if word not in words.STOP_WORDS]
    return terms[: words.MAX_QUERY_WORDS] or words.split(text)[:1] or [""]
