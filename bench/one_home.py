"""Recall over dated sessions of several conversations, archived as transcripts: all in one home, or one each.

The data is a dict: `sessions[{id, at, turns[[turn, role, text], ...]}]`, an id being `<conversation>-s<number>`, and
`qa[{conversation, question, evidence[]}]`, evidence naming turns as `D<session number>:<turn>`. Each session becomes
one transcript of Claude Code, its turns a minute apart; `memory archive --all` takes them in.

Every other conversation in the order of their names, from the first on, is one that constants may be tuned on; the
others are not. Both halves are told apart in every table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import apsw
from throwaway_home import CUTS, LIKELY, Home, best_score, share, write_transcript
from unanswered import SOFTWARE

from core import clock
from core.words import STOP_WORDS, split

TUNED, UNTUNED = "tuned on", "not tuned on"
_FOLDER = ".claude/projects/-home-a-talk"
_FIRST_HITS = 10


@dataclass(frozen=True)
class Talk:
    """One session of a conversation."""

    id: str
    conversation: str
    at: datetime
    turns: Sequence[tuple[str, str, str]]
    """Of each its name, who spoke (`user` or `assistant`), and the text."""

    def times(self) -> list[datetime]:
        """When each turn was said."""
        return [self.at + timedelta(minutes=number) for number in range(len(self.turns))]


@dataclass(frozen=True)
class Question:
    """A question, and the turns (session, turn) that answer it."""

    conversation: str
    text: str
    evidence: frozenset[tuple[str, str]]

    @property
    def sessions(self) -> set[str]:
        """The sessions that hold some of the evidence."""
        return {session for session, _ in self.evidence}


@dataclass(frozen=True)
class Corpus:
    """All sessions, and the questions that some of them answers."""

    talks: list[Talk]
    questions: list[Question]

    @classmethod
    def of(cls, data: dict[str, Any]) -> Corpus:
        """What the data holds."""
        talks = [
            Talk(
                one["id"],
                one["id"].rpartition("-s")[0],
                datetime.fromisoformat(one["at"].replace("Z", "+00:00")),
                [(turn, role, text) for turn, role, text in one["turns"]],
            )
            for one in data["sessions"]
        ]
        questions = [
            Question(
                one["conversation"],
                one["question"],
                frozenset((f"{one['conversation']}-s{turn[1:].split(':')[0]}", turn) for turn in one["evidence"]),
            )
            for one in data["qa"]
        ]
        return cls(talks, [question for question in questions if question.evidence])

    def halves(self) -> dict[str, str]:
        """Conversation with questions → whether constants may be tuned on it."""
        names = sorted({question.conversation for question in self.questions})
        return {name: (TUNED, UNTUNED)[place % 2] for place, name in enumerate(names)}

    def moved(self, newest: datetime) -> Corpus:
        """The same with all dates moved, so that the newest session is of that time."""
        shift = newest - max(talk.at for talk in self.talks)
        return Corpus([Talk(t.id, t.conversation, t.at + shift, t.turns) for t in self.talks], self.questions)


def measure(data: dict[str, Any], command: str, budget: str) -> dict[str, Any]:
    """The tables: where the sessions lie → system → half → figures."""
    corpus = Corpus.of(data)
    system = f"joelclaw {budget}"
    answers = _ask(corpus.talks, corpus.questions, command, budget)
    about: dict[str, Any] = {
        "halves": corpus.halves(),
        "sessions": len(corpus.talks),
        "turns": sum(len(talk.turns) for talk in corpus.talks),
    }
    one_home = {system: _figures(corpus, answers.found)}
    about["unanswered"] = {"questions": len(SOFTWARE), "likely": answers.unanswered}
    today = datetime.fromtimestamp(clock.now_ms() / 1000, UTC)
    moved = _ask(corpus.moved(today).talks, corpus.questions, command, budget).found
    one_home[f"{system}, the newest session today"] = _figures(corpus, moved)
    one_home["FTS5 only"] = _figures(corpus, _ask_fts5(corpus.talks, corpus.questions))
    alone: dict[Question, _Found] = {}
    plain: dict[Question, _Found] = {}
    for talks, asked in _by_conversation(corpus):
        alone |= _ask(talks, asked, command, budget).found
        plain |= _ask_fts5(talks, asked)
    each = {system: _figures(corpus, alone), "FTS5 only": _figures(corpus, plain)}
    return {**about, "one home": one_home, "one conversation a home": each}


def _by_conversation(corpus: Corpus) -> Iterable[tuple[list[Talk], list[Question]]]:
    for name in corpus.halves():
        yield (
            [talk for talk in corpus.talks if talk.conversation == name],
            [question for question in corpus.questions if question.conversation == name],
        )


_Found = tuple[list[str], list[tuple[str, str]], float | None]
"""Sessions in the order of their first hit, the turns of the first ten hits, and what the best one scored."""


@dataclass(frozen=True)
class _Answers:
    found: dict[Question, _Found]
    unanswered: float
    """The share of `unanswered.SOFTWARE` that gets a likely answer."""


def _ask(talks: Sequence[Talk], questions: Sequence[Question], command: str, budget: str) -> _Answers:
    with Home(command, budget) as home:
        turn_at = {}
        for talk in talks:
            said = [
                (at.strftime("%Y-%m-%dT%H:%M:%S.000Z"), role, text)
                for at, (_, role, text) in zip(talk.times(), talk.turns, strict=True)
            ]
            for (at, _, _), (turn, _, _) in zip(said, talk.turns, strict=True):
                turn_at[(talk.id, at)] = turn
            write_transcript(home.path / _FOLDER / f"{talk.id}.jsonl", talk.id, said)
        home.run("memory", "archive", "--all")
        answers = home.ask([*(question.text for question in questions), *SOFTWARE])
    found: dict[Question, _Found] = {}
    for question, hits in zip(questions, answers, strict=False):
        sessions = list(dict.fromkeys(hit["session"] for hit in hits))
        places = [(hit["session"], hit["timestamp"]) for hit in hits[:_FIRST_HITS]]
        turns = [(session, turn_at.get((session, at), "")) for session, at in places]
        found[question] = sessions, turns, best_score(hits)
    foreign = [best_score(hits) >= LIKELY for hits in answers[len(questions) :]]
    return _Answers(found, share(foreign))


def _ask_fts5(talks: Sequence[Talk], questions: Sequence[Question]) -> dict[Question, _Found]:
    """Plain FTS5: a row a turn, any of the question's words, BM25."""
    db = apsw.Connection(":memory:")
    db.execute(
        "CREATE VIRTUAL TABLE t USING fts5(text, session UNINDEXED, turn UNINDEXED, tokenize='porter unicode61')"
    )
    db.executemany(
        "INSERT INTO t (text, session, turn) VALUES (?, ?, ?)",
        ((text, talk.id, turn) for talk in talks for turn, _, text in talk.turns),
    )
    found: dict[Question, _Found] = {}
    for question in questions:
        words = [word for word in split(question.text) if word not in STOP_WORDS]
        match = " OR ".join(f'"{word}"' for word in words) or '""'
        rows = db.execute("SELECT session, turn FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 50", (match,)).fetchall()
        found[question] = list(dict.fromkeys(str(row[0]) for row in rows)), rows[:_FIRST_HITS], None
    return found


def _figures(corpus: Corpus, answers: dict[Question, _Found]) -> dict[str, dict[str, float]]:
    """Half → figures, and those of all questions."""
    half_of = corpus.halves()
    table: dict[str, dict[str, float]] = {}
    for half in (TUNED, UNTUNED, "all"):
        of = [question for question in corpus.questions if half in (half_of[question.conversation], "all")]
        if of:
            table[half] = {
                "questions": len(of),
                **{f"any@{cut}": share([bool(q.sessions & set(answers[q][0][:cut])) for q in of]) for cut in CUTS},
                "turns@10": share([len(q.evidence & set(answers[q][1])) / len(q.evidence) for q in of]),
            }
            scores = [score for q in of if (score := answers[q][2]) is not None]
            if scores:
                table[half]["likely"] = share([score >= LIKELY for score in scores])
    return table
