"""What the preference for the project of the current folder gains and costs: code questions, asked from folders.

Each question is asked everywhere, from a folder of the project that its session worked on, and from one of another. The
sessions are taken twice: in the repositories that they worked in, and each as if it had a repository of its own, with
the same words in many. The factor was chosen on every other session, in the order of their ids; the other half is
shown beside it.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import code_questions
from code_questions import Corpus, Question
from recovery_session import Session
from throwaway_home import CUTS, Home, share

from core.project import name_of

_NOBODYS = "nobody-s-repository"
TUNED, UNTUNED = "tuned on", "not tuned on"
_FOLDER = re.compile(rb'"cwd": ?"((?:[^"\\]|\\.)*)"')


def measure(sessions: Sequence[Session], command: str, budget: str) -> dict[str, Any]:
    """Layout → row → figures."""
    corpus = Corpus(list(sessions))
    questions = corpus.questions()
    wanted = [corpus.answers(question) for question in questions]
    table: dict[str, Any] = {}
    for layout, names in (
        ("the repositories as they are", {one.id: _project(one.lines) for one in sessions}),
        ("each session a repository of its own", {one.id: f"repository-{one.id}" for one in sessions}),
    ):
        with Home(command, budget) as home:
            code_questions.archive(home, [_moved(one, names[one.id]) for one in sessions])
            table[layout] = _rows(home, questions, wanted, names)
    return table


def _project(lines: Iterable[bytes]) -> str:
    found = next(filter(None, map(_FOLDER.search, lines)), None)
    return name_of(found[1].decode("utf-8", "replace")) if found else ""


class _moved:  # noqa: N801  # a session with other lines
    """A session that worked in another folder."""

    def __init__(self, session: Session, name: str) -> None:
        self.id = session.id
        here = f'"cwd":"/gone/{name}"'.encode()
        self.lines = [_FOLDER.sub(lambda _: here, line) for line in session.lines]


def _rows(
    home: Home, questions: Sequence[Question], wanted: Sequence[set[str]], names: Mapping[str, str]
) -> dict[str, Any]:
    most = [name for name, _ in Counter(names.values()).most_common()]
    own = [names[question.session] for question in questions]
    other = []
    for question, answers in zip(questions, wanted, strict=True):
        theirs = {names[session] for session in answers}
        others = [name for name in most if name not in theirs and name != names[question.session]] or [_NOBODYS]
        one_each = len(most) == len(names)
        other.append(random.Random(question.text).choice(sorted(others)) if one_each else others[0])
    halves = {session: (TUNED, UNTUNED)[at % 2] for at, session in enumerate(sorted(names))}
    rows: dict[str, Any] = {}
    for asker, places in (("everywhere", [""] * len(own)), ("its own folder", own), ("another's folder", other)):
        found = _asked(home, questions, places)
        for half in (TUNED, UNTUNED):
            of = [n for n, question in enumerate(questions) if halves[question.session] == half]
            figures = {f"any@{cut}": share([bool(wanted[n] & set(found[n][:cut])) for n in of]) for cut in CUTS}
            rows[f"{asker}, {half}"] = {"questions": len(of), **figures}
    return rows


def _asked(home: Home, questions: Sequence[Question], places: Sequence[str]) -> list[list[str]]:
    """The sessions found, best first, of each question in the folder of its project; "" for no project."""
    found: dict[int, list[str]] = {}
    for place in dict.fromkeys(places):
        numbers = [n for n, one in enumerate(places) if one == place]
        folder = home.path / "places" / place if place else None
        if folder:
            (folder / ".git").mkdir(parents=True, exist_ok=True)
        hits = home.ask([questions[n].text for n in numbers], folder=folder)
        for n, one in zip(numbers, hits, strict=True):
            found[n] = list(dict.fromkeys(hit["session"] for hit in one if hit["session"]))
    return [found[n] for n in range(len(questions))]
