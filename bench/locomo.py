"""Recall quality on LoCoMo conversations: how much of the evidence for a question is in the first k hits.

The data is a list of `{sample_id, turns[{id, session, speaker, text}], observations[{text, evidence[], session}],
qa[{question, evidence[]}]}`. For each conversation a throwaway home is filled through `joelclaw memory import`, and
every question is asked through `joelclaw recall --batch`: the installed command does all the work. No turn has a date.
Two tasks: turns (imported as episodes, both neighbours as context) and observations (a found one counts for the turns
it was drawn from). Beside it stands plain FTS5 BM25 over the same texts. Left out are questions whose evidence is not
in the data and, for observations, those whose evidence no observation was drawn from: nothing could find them.
"""

from __future__ import annotations

import json
from typing import Any

import apsw
from throwaway_home import CUTS, Home

from core.words import STOP_WORDS


def turn_lines(sample: dict[str, Any]) -> list[dict[str, Any]]:
    """One import line a turn, with the turns before and after it in the same session as context."""
    turns = sample["turns"]
    lines = []
    for i, turn in enumerate(turns):
        around = [turns[j] for j in (i - 1, i + 1) if 0 <= j < len(turns) and turns[j]["session"] == turn["session"]]
        lines.append(
            {
                "id": turn["id"],
                "collection": "episodes",
                "text": f"{turn['speaker']}: {turn['text']}",
                "context": "\n".join(f"{t['speaker']}: {t['text']}" for t in around),
            }
        )
    return lines


def observation_lines(sample: dict[str, Any]) -> list[dict[str, Any]]:
    """One import line an observation; `verdict` keeps the write gate out of the measurement."""
    return [
        {"id": f"o{i}", "collection": "observations", "text": o["text"], "verdict": "allow"}
        for i, o in enumerate(sample["observations"])
    ]


def ask(
    lines: list[dict[str, Any]], questions: list[str], collection: str, command: str, budget: str
) -> list[list[str]]:
    """The ids of the hits for each question, from the command over a throwaway home."""
    with Home(command, budget) as home:
        home.run("memory", "import", "-", given="\n".join(json.dumps(line) for line in lines))
        answers = home.ask(questions, "--collection", collection, limit=max(CUTS))
    return [[hit["id"] for hit in hits] for hits in answers]


def ask_fts5(lines: list[dict[str, Any]], questions: list[str], stop_words: frozenset[str]) -> list[list[str]]:
    """The same from plain FTS5 (porter, any of the question's words, BM25 over text and nothing else)."""
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize = 'porter unicode61')")
    for i, line in enumerate(lines):
        db.execute("INSERT INTO t (rowid, text) VALUES (?, ?)", (i, line["text"]))
    found = []
    for question in questions:
        words = "".join(c if c.isalnum() else " " for c in question.lower()).split()
        words = [word for word in words if word not in stop_words] or words
        match = " OR ".join(f'"{word}"' for word in words) or '""'
        rows = db.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?", (match, max(CUTS)))
        found.append([lines[row[0]]["id"] for row in rows])
    return found


def shares(hits: list[list[str]], evidence: list[set[str]], stands_for: dict[str, set[str]]) -> dict[int, list[float]]:
    """Per cut and question: the share of its evidence among the first hits."""
    result: dict[int, list[float]] = {cut: [] for cut in CUTS}
    for ids, wanted in zip(hits, evidence, strict=True):
        for cut in CUTS:
            seen: set[str] = set().union(*(stands_for[i] for i in ids[:cut])) if ids else set()
            result[cut].append(len(wanted & seen) / len(wanted))
    return result


def measure(data: list[dict[str, Any]], command: str, budget: str) -> dict[str, Any]:
    """The table: task → system → share at each cut, over all questions of all conversations."""
    table: dict[str, Any] = {}
    for task, make, collection in (
        ("turns", turn_lines, "episodes"),
        ("observations", observation_lines, "observations"),
    ):
        totals: dict[str, dict[int, list[float]]] = {}
        for sample in data:
            lines = make(sample)
            if task == "turns":
                stands_for = {line["id"]: {line["id"]} for line in lines}
            else:
                stands_for = {f"o{i}": set(o["evidence"]) for i, o in enumerate(sample["observations"])}
            known = {turn["id"] for turn in sample["turns"]}
            reachable = set().union(*stands_for.values())
            asked = [(q["question"], set(q["evidence"]) & known) for q in sample["qa"]]
            asked = [(question, wanted) for question, wanted in asked if wanted & reachable]
            questions = [question for question, _ in asked]
            evidence = [wanted for _, wanted in asked]
            for name, hits in (
                (f"joelclaw {budget}", ask(lines, questions, collection, command, budget)),
                ("FTS5 only", ask_fts5(lines, questions, frozenset())),
                ("FTS5, no stop words", ask_fts5(lines, questions, STOP_WORDS)),
            ):
                cuts = totals.setdefault(name, {cut: [] for cut in CUTS})
                for cut, values in shares(hits, evidence, stands_for).items():
                    cuts[cut].extend(values)
        table[task] = {
            name: {"questions": len(cuts[1]), **{f"R@{cut}": round(sum(v) / len(v), 4) for cut, v in cuts.items()}}
            for name, cuts in totals.items()
        }
    return table
