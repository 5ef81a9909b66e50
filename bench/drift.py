"""A drift check on what is no dialogue: knowledge and notes, asked what they answer and what they do not.

What is tuned on dialogue may well lose elsewhere. Knowledge is the project's own documentation, taken in by `knowledge
sync`; notes are made up, of the last 80 days. A question is made of the content words of a section or a note, every
other one left out, eight at most. What nothing answers is `unanswered.HOUSEHOLD`.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from notes import notes
from throwaway_home import CUTS, LIKELY, Home, best_score, share
from unanswered import HOUSEHOLD

from core import clock
from core.words import STOP_WORDS, split

DOCS = Path(__file__).resolve().parent.parent / "docs"
_NOTES = 1_000
_ASKED = 120
_DAYS = 80
"""An observation that nobody has recalled in 90 days is dropped."""
_WORDS = 8
_LEAST_CHARS = 200


def measure(command: str, budget: str, docs: Path = DOCS) -> dict[str, Any]:
    """What is asked → collection → figures."""
    sections = list(_sections(docs))
    written = list(notes(_NOTES))
    asked = random.Random(7).sample(range(_NOTES), min(_ASKED, _NOTES))
    with Home(command, budget) as home:
        shutil.copytree(docs, home.path / "docs", ignore=lambda _, names: [n for n in names if not n.endswith(".md")])
        home.run("knowledge", "sync", str(home.path / "docs"))
        home.run("memory", "import", "-", given="".join(_lines(written)))
        answers = {
            "knowledge": home.ask([query for _, query in sections]),
            "observations": home.ask([every_other(written[n]) for n in asked]),
        }
        unanswered = home.ask(HOUSEHOLD)
    found = {
        "knowledge": [
            [(Path(hit["path"]).name, *hit["title"].split(" › ")[1:2]) == place for hit in hits]
            for (place, _), hits in zip(sections, answers["knowledge"], strict=True)
        ],
        "observations": [
            [hit["id"] == f"note-{n}" for hit in hits] for n, hits in zip(asked, answers["observations"], strict=True)
        ],
    }
    table: dict[str, Any] = {
        name: {
            "questions": len(rows),
            **{f"found@{cut}": share([any(row[:cut]) for row in rows]) for cut in CUTS},
            "likely": share([best_score(hits) >= LIKELY for hits in answers[name]]),
        }
        for name, rows in found.items()
    }
    table["unanswered"] = {
        "questions": len(HOUSEHOLD),
        "likely": share([best_score(hits) >= LIKELY for hits in unanswered]),
    }
    return table


def every_other(text: str) -> str:
    """The content words of a text, every other one left out, eight at most."""
    words = [word for word in dict.fromkeys(split(text)) if word not in STOP_WORDS and not word.isdigit()]
    return " ".join(words[1::2][:_WORDS])


def _sections(docs: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """File name and heading of each longer section, and the question about it; no heading twice in a file."""
    for path in sorted(docs.glob("*.md")):
        seen = set()
        for section in f"\n{path.read_text(encoding='utf-8')}".split("\n## ")[1:]:
            heading, _, text = section.partition("\n")
            prose = "\n".join(line for line in text.splitlines() if line[:1] not in ("|", "#", "`", " ", "<"))
            if len(prose) >= _LEAST_CHARS and heading not in seen:
                seen.add(heading)
                yield (path.name, heading), every_other(prose)


def _lines(written: list[str]) -> Iterator[str]:
    """One import line a note, spread evenly over the last 80 days."""
    now = datetime.fromtimestamp(clock.now_ms() / 1000, UTC)
    for number, text in enumerate(written):
        at = now - timedelta(days=_DAYS * (1 - number / len(written)))
        line = {
            "id": f"note-{number}",
            "text": text,
            "verdict": "allow",
            "created_at": at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        }
        yield json.dumps(line) + "\n"
