"""How much of what was needed a text holds, and what an agent could fetch with it: a score a compaction and system."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields

from recovery_session import Needed, Session, identifiers

ANSWER_CHARS = 4_000
"""What counts of an answer."""
SAMPLE = 8
"""Names that are asked for by name, a compaction."""
NO_SUCH_NAME = "zqNoSuchName"


@dataclass
class Score:
    """Counts of one compaction, or of many added up. `view`: in the text; `away`: in it or in what it leads to."""

    chars: int = 0
    names_view: int = 0
    names_away: int = 0
    names_needed: int = 0
    commands_view: int = 0
    commands_away: int = 0
    commands_needed: int = 0
    files_view: int = 0
    files_away: int = 0
    files_needed: int = 0
    shown: int = 0
    shown_used: int = 0
    queries: int = 0
    queries_run: int = 0
    answer_chars: int = 0
    asked: int = 0
    found: int = 0
    found_chars: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    def as_dict(self) -> dict[str, int]:
        """By name."""
        return asdict(self)


def score(session: Session, compaction: int, needed: Needed, text: str, more: str = "") -> Score:
    """What a text handed out after a compaction holds.

    Args:
        more: what an agent gets that follows the text: the answers of its queries, the rest of a list.
    """
    pool = f"{text}\n{more}"
    shown = identifiers(text)
    found = Score(chars=len(text), shown=len(shown))
    found.shown_used = len(shown & session.used_next(compaction + 1))
    for kind in ("names", "commands", "files"):
        wanted: frozenset[str] = getattr(needed, kind)
        setattr(found, f"{kind}_needed", len(wanted))
        setattr(found, f"{kind}_view", sum(one in text for one in wanted))
        setattr(found, f"{kind}_away", sum(one in pool for one in wanted))
    return found


def sample(chance: random.Random, names: Iterable[str]) -> list[str]:
    """Up to eight of the names, the same ones in every run with the same seed."""
    ordered = sorted(names)
    return chance.sample(ordered, min(SAMPLE, len(ordered)))


def ask_by_name(names: list[str], ask: Callable[[str], str]) -> Score:
    """How many names stand in the answer to a question for that name alone.

    Lines that come back for a name that never was, the question's own words among them, are no answer.
    """
    if not names:
        return Score()
    of_any_question = {line.replace(NO_SUCH_NAME, "") for line in ask(NO_SUCH_NAME).splitlines()}
    total = Score(asked=len(names))
    for name in names:
        lines = [line for line in ask(name).splitlines() if line.replace(name, "") not in of_any_question]
        answer = "\n".join(lines)[:ANSWER_CHARS]
        total.found += name in answer
        total.found_chars += len(answer)
    return total
