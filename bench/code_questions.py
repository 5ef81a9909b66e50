"""Questions about real coding sessions whose answer is known by construction; no model writes or judges them.

The answer is the session (all sessions) in which the text stands that the
question was made from. All sessions lie in one home. Beside joelclaw stands FTS5 alone over everything that is in the
transcripts: prompts, answers, inputs and outputs of tools.
"""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
from recovery_session import NoTranscript, Session, identifiers
from throwaway_home import CUTS, LIKELY, Home, best_score, share
from unanswered import HOUSEHOLD

from core.words import STOP_WORDS, split

KINDS = ("decision", "prompt", "error", "spread")
_MOST_ANSWERS = 3
"""A question that more sessions answer says little."""
PER_SESSION = 6
"""Most questions of a kind from one session, drawn with its id as the seed."""
_DECIDES = re.compile(
    r"\b(?:because|instead|rather|decided|since|so that|only|never|always|must|should)\b", re.IGNORECASE
)
_FAILS = re.compile(r"\b(?:error|failed|fatal|panic|cannot|undefined|not found|no such|exception)\b", re.IGNORECASE)
_WORD = re.compile(r"[a-z][a-z'’-]{3,}")
_PROMPT_CHARS = 600
_PROMPT_WORDS = 8
_LONGEST_LINE = 200
_SUFFIXES = (".jsonl", ".jsonl.xz")


@dataclass(frozen=True)
class Question:
    """What is asked, and the text that it was made from, "" for an error line and where it was made from several."""

    kind: str
    text: str
    made_from: str
    session: str


@dataclass
class Corpus:
    """Sessions, and in how many messages of all of them a word stands."""

    sessions: list[Session]
    frequency: Counter[str] = field(init=False)
    wholes: dict[str, str] = field(init=False)
    failures: dict[str, list[set[str]]] = field(init=False)
    """The words of each line of a session that speaks of an error, short ones."""

    def __post_init__(self) -> None:
        self.wholes = {one.id: "\n".join(moment.text for moment in one.moments) for one in self.sessions}
        self.failures = {
            one.id: [set(split(line)) for line in self.wholes[one.id].splitlines() if _is_failure(line)]
            for one in self.sessions
        }
        self.frequency = Counter(
            word for session in self.sessions for moment in session.moments for word in set(split(moment.text))
        )

    def rarest(self, text: str, most: int) -> list[str]:
        """The rarest plain words of a text, of four letters and more; none that is, or is part of, an identifier."""
        named = {part for name in identifiers(text) for part in split(name)}
        plain = {word.strip("'’-") for word in _WORD.findall(text.lower())} - named - STOP_WORDS
        ordered = sorted((word for word in plain if word.isalpha()), key=lambda word: (self.frequency[word], word))
        return ordered[:most]

    def questions(self) -> list[Question]:
        """At most six of each kind a session; no question twice, and none that more than three sessions answer."""
        found: dict[tuple[str, str], Question] = {}
        for session in self.sessions:
            for kind in KINDS:
                made = [one for one in getattr(self, f"_{kind}")(session) if len(self.answers(one)) <= _MOST_ANSWERS]
                chance = random.Random(f"{session.id} {kind}")
                for question in chance.sample(made, min(PER_SESSION, len(made))):
                    found.setdefault((kind, question.text), question)
        return list(found.values())

    def answers(self, question: Question) -> set[str]:
        """The sessions that hold the text that a question was made from; of an error, its words in one line."""
        if question.kind == "error":
            words = set(question.text.split())
            return {session for session, lines in self.failures.items() if any(words <= line for line in lines)}
        if question.kind == "spread":
            return {question.session}
        return {session for session, whole in self.wholes.items() if question.made_from in whole}

    def _decision(self, session: Session) -> Iterator[Question]:
        """A sentence of the agent that names something and says why or how: its five rarest words, alphabetically."""
        for moment in session.moments:
            if moment.kind != "said":
                continue
            for sentence in re.split(r"(?<=[.!?])\s+|\n", moment.text):
                if not (8 <= len(sentence.split()) <= 50 and identifiers(sentence) and _DECIDES.search(sentence)):
                    continue
                words = self.rarest(sentence, 5)
                if len(words) >= 3:
                    yield Question("decision", " ".join(sorted(words)), sentence, session.id)

    def _prompt(self, session: Session) -> Iterator[Question]:
        """A prompt of the user: its content words, every other one left out, eight at most."""
        for moment in session.moments:
            if moment.kind != "prompt":
                continue
            words = list(dict.fromkeys(word for word in split(moment.text[:_PROMPT_CHARS]) if word not in STOP_WORDS))
            words = [word for word in words if not word.isdigit()][1::2][:_PROMPT_WORDS]
            if len(words) >= 3:
                yield Question("prompt", " ".join(words), moment.text[:_PROMPT_CHARS], session.id)

    def _error(self, session: Session) -> Iterator[Question]:
        """The first line of a failed call that speaks of an error: its plain words, in their order, ten at most."""
        for moment in session.moments:
            if moment.kind != "result" or not moment.failed:
                continue
            for line in filter(_is_failure, moment.text.splitlines()):
                named = {part for name in identifiers(line) for part in split(name)}
                words = [word for word in split(line) if word.isalpha() and len(word) > 2 and word not in named]
                words = [word for word in dict.fromkeys(words) if word not in STOP_WORDS][:10]
                if len(words) >= 4:
                    yield Question("error", " ".join(words), "", session.id)
                    break

    def _spread(self, session: Session) -> Iterator[Question]:
        """Three messages in a row: the two rarest words of each, so that no message has more than a third of them."""
        said = [moment.text for moment in session.moments if moment.kind in ("prompt", "said")]
        for at in range(0, len(said) - 2, 3):
            chosen: list[str] = []
            for text in said[at : at + 3]:
                chosen += [word for word in self.rarest(text[:_PROMPT_CHARS], 4) if word not in chosen][:2]
            if len(chosen) == 6:
                yield Question("spread", " ".join(chosen[::2] + chosen[1::2]), "", session.id)


def _is_failure(line: str) -> bool:
    return len(line) <= _LONGEST_LINE and bool(_FAILS.search(line))


def read(folders: Iterable[Path]) -> list[Session]:
    """The sessions of folders and files, in the order of their names; what is none is left out."""
    paths: list[Path] = []
    for folder in folders:
        paths += folder.rglob("*") if folder.is_dir() else [folder]
    found: dict[str, Session] = {}
    for path in sorted(set(paths)):
        if path.name.endswith(_SUFFIXES) and path.is_file():
            try:
                session = Session(path)
            except NoTranscript:
                continue
            found.setdefault(session.id, session)
    return list(found.values())


def archive(home: Home, sessions: Sequence[Session]) -> None:
    """Take the sessions in, as `memory archive` does with a folder of transcripts."""
    folder = home.path / "transcripts"
    folder.mkdir()
    for session in sessions:
        (folder / f"{session.id}.jsonl").write_bytes(b"".join(session.lines))
    home.run("memory", "archive", str(folder))
    shutil.rmtree(folder)


def measure(sessions: Sequence[Session], home: Home) -> dict[str, Any]:
    """Ask all questions of the filled home: kind → system → figures; and how high what nothing answers scores."""
    corpus = Corpus(list(sessions))
    questions = corpus.questions()
    wanted = [corpus.answers(question) for question in questions]
    hits = home.ask([question.text for question in questions])
    found = {"joelclaw": [_sessions(one) for one in hits], "FTS5 only": list(_fts5(sessions, questions))}
    table: dict[str, Any] = {}
    for kind in (*KINDS, "all"):
        of = [n for n, question in enumerate(questions) if kind in (question.kind, "all")]
        table[kind] = {
            system: {
                "questions": len(of),
                **{f"any@{cut}": share([bool(wanted[n] & _first(answers[n], cut)) for n in of]) for cut in CUTS},
            }
            for system, answers in found.items()
        }
        table[kind]["joelclaw"]["likely"] = share([best_score(hits[n]) >= LIKELY for n in of])
    unanswered = home.ask(HOUSEHOLD)
    table["unanswered"] = {
        "joelclaw": {"questions": len(HOUSEHOLD), "likely": share([best_score(one) >= LIKELY for one in unanswered])}
    }
    return table


def _sessions(hits: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(hit["session"] for hit in hits if hit["session"]))


def _first(sessions: Sequence[str], cut: int) -> set[str]:
    return set(sessions[:cut])


def _fts5(sessions: Sequence[Session], questions: Sequence[Question]) -> Iterator[list[str]]:
    """Sessions in the order of their best message by BM25, any of the question's words."""
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(text, session UNINDEXED, tokenize = 'porter unicode61')")
    for session in sessions:
        db.executemany(
            "INSERT INTO t (text, session) VALUES (?, ?)",
            ((moment.text, session.id) for moment in session.moments if moment.text),
        )
    for question in questions:
        match = " OR ".join(f'"{word}"' for word in split(question.text) if word not in STOP_WORDS) or '""'
        rows = db.execute("SELECT session FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 500", (match,))
        yield list(dict.fromkeys(str(session) for (session,) in rows))
