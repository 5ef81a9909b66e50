"""The observer: a model reads a session range by range, and its notes become memories (ADR-0203, async).

In the prompt (`observe_prompt.txt`), the conversation is data in a frame. The frame's mark is a hash of the text,
so the conversation cannot contain it; each turn's lines are indented, so that none looks like the head of another turn;
and tags of the form are escaped. In the reply, closing tags may be missing, and fences, bullets and text around the
form are ignored. Annotations of the write gate stay in front; `memory.gate` reads them.

The observations of a range are stored in one transaction with the position up to which the session is observed, so a
run that is killed has stored a range completely or not at all, and the next run continues there.
"""

import html
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import apsw

from core import clock, words
from core.command import Model
from core.config import Config
from core.errors import Failure
from core.quoting import clip
from core.records import Episode
from core.redaction import redact
from core.store import sessions, sqlite
from memory import gate, write
from recall.hit import SPEAKERS

MAX_TOKENS = 60_000  # estimated, of all prompts and replies of a run: limits its price
SECONDS = 300  # after which no further range is begun
TRIES = 3  # unreadable replies in a row, after which a range is skipped so that later ones are observed
RANGE_TOKENS = 12_000  # estimated, of the conversation in a prompt: a small model still reads this carefully
_CHARS_PER_TOKEN = 4
_TAG_NAMES = "observations|observation|segment|narrative|facts|fact"


class Item(NamedTuple):
    """An observation; `text` is a single line that begins with the annotation, if there is any."""

    type: str
    text: str


def new_report() -> dict[str, Any]:
    """The report of a run, for the command's result and its events."""
    return {
        "turns": 0, "tokens": 0, "rangeCount": 0, "observations": {"added": 0, "merged": 0},
        "left": {"turns": 0, "tokens": 0, "reason": ""},
    }  # fmt: skip


@dataclass
class Observer:
    """Observes one session within MAX_TOKENS and SECONDS."""

    db: apsw.Connection
    session: str
    model: Model
    config: Config
    report: dict[str, Any]

    def run(self, begin: Callable[[int, int], None]) -> None:
        """Observe the turns since the last run, oldest first, until the budget is used."""
        until, report = time.monotonic() + SECONDS, self.report
        turns, tokens = self._left()
        if turns:
            begin(turns, tokens)
        while not report["left"]["reason"]:
            episodes, prompt = self._next(MAX_TOKENS - report["tokens"])
            if not episodes:
                break
            if report["tokens"] + _tokens(prompt) > MAX_TOKENS:
                report["left"]["reason"] = "tokens"
            elif time.monotonic() > until:
                report["left"]["reason"] = "seconds"
            else:
                self._observe(episodes, prompt)
        report["left"]["turns"], report["left"]["tokens"] = self._left()

    def _position(self) -> int:
        """The row up to which the session is observed."""
        return sessions.observed_position(self.db, self.session)

    def _left(self) -> tuple[int, int]:
        """How many turns are not observed yet, and their tokens."""
        turns, characters = sessions.unobserved(self.db, self.session, self._position())
        return turns, characters // _CHARS_PER_TOKEN

    def _next(self, left_tokens: int) -> tuple[list[Episode], str]:
        """The range of episodes that comes next, at least 1 unless there are no more, and its prompt."""
        frame = prompt_of(())
        reply_tokens = 1_000
        tokens = min(RANGE_TOKENS, left_tokens - _tokens(frame) - reply_tokens)
        room = self.config.get_int("model.max_prompt_bytes") - len(frame.encode())
        episodes: list[Episode] = []
        turns: list[str] = []
        for episode in sessions.episodes(self.db, self.session, self._position(), 1_000):
            turn = turn_of(episode["text"], episode["created_at"])
            tokens -= _tokens(turn)
            room -= len(turn.encode()) + 1
            if turns and (tokens < 0 or room < 0):
                break
            turns.append(turn)
            episodes.append(episode)
        return episodes, prompt_of(turns)

    def _observe(self, episodes: list[Episode], prompt: str) -> None:
        """Ask about a range and store the observations."""
        report, before = self.report, self._position()
        reply = self.model(prompt)
        try:
            items = parse(reply)
        except Failure:
            with sqlite.transaction(self.db):
                tries = sessions.count_failed_reply(self.db, self.session)
            if tries < TRIES:
                raise
            items = []
        self._store(items, episodes, before)
        report["turns"] += len(episodes)
        report["tokens"] += _tokens(prompt) + _tokens(reply)
        report["rangeCount"] += 1

    def _store(self, items: Sequence[Item], episodes: Sequence[Episode], before: int) -> None:
        """Store the observations of a range and the new position, all or nothing."""
        now, counts = clock.now_ms(), self.report["observations"]
        project = next((episode["project"] for episode in reversed(episodes) if episode["project"]), "")
        with sqlite.transaction(self.db):
            if self._position() != before:
                message = "another process has observed the same turns"
                raise Failure("OBSERVE_BUSY", message, "run it again: it continues from there")
            for item in items:
                draft = write.Draft(item.text, source="observe", session=self.session, project=project)
                document = write.compose(draft, [], now=now)
                document["observation_type"] = item.type
                _, is_merged = write.place(self.db, document, now=now)
                counts["merged" if is_merged else "added"] += 1
            sessions.save_observed_position(self.db, self.session, episodes[-1]["rowid"], now)


def prompt_of(turns: Sequence[str]) -> str:
    """The prompt for turns (see `turn_of`), oldest first; without turns, only the frame."""
    transcript = "\n".join(turns)
    with open(os.path.join(os.path.dirname(__file__), "observe_prompt.txt"), encoding="utf-8") as file:
        task = file.read()
    names = ", ".join(gate.CATEGORY_WORDS)
    return task.format(mark=words.fingerprint(transcript)[:12], transcript=transcript, categories=names)


def turn_of(episode: str, at: int) -> str:
    """The text of an episode as lines of a prompt, with its time (ms since the epoch); only imported ones are cut.

    Tags of the form and annotations in it are defused: they are not the model's.
    """
    role, colon, text = episode.partition(": ")
    if not colon or role not in SPEAKERS:
        role, text = "user", episode  # imported from elsewhere: the speaker's name stays in the text
    text = re.sub(rf"(?i)<(?=[ \t]{{0,3}}/?[ \t]{{0,3}}(?:{_TAG_NAMES}|transcript))", "&lt;", clip(text, 4_600))
    lines = re.sub(r"(?i)\[(?=[ \t]{0,3}(?:gate|verdict)[ \t]{0,3}=)", "(", text).splitlines()
    return "\n  ".join((f"{role}, {clock.iso(at)[:10]}:", *lines))


def parse(reply: str) -> list[Item]:
    """The observations of a reply. If it broke off, the last observation is dropped, since it may be cut.

    Raises Failure OBSERVE_REPLY_INVALID.
    """
    text = re.sub(r"(?s)<(think|thinking)>.*?</\1>|```[a-z]{0,12}", "", reply)
    # A tag within backticks is talk about the form. Bounded repetitions keep the search linear.
    tag = rf"(?i)(?<!`)<[ \t]{{0,3}}(/?)[ \t]{{0,3}}({_TAG_NAMES})\b[^<>]{{0,200}}>"
    _, *parts = re.split(tag, re.sub(r"</?[A-Za-z]{0,12}\Z", "", text))
    tags = [slash + name.lower() for slash, name in zip(parts[::3], parts[1::3], strict=True)]
    if "observations" not in tags:
        raise _not_the_form(reply, "it holds no <observations>")
    opened = max(number for number, tag in enumerate(tags) if tag == "observations")  # before, it only spoke of it
    items = [
        item
        for tag, content in zip(tags[opened:], parts[2::3][opened:], strict=True) if tag[0] != "/"
        for item in _items(tag, content)
    ]  # fmt: skip
    if tags[-1][0] != "/":
        del items[-1:]
    if not items and tags[-1] not in ("/observations", "/segment"):
        raise _not_the_form(reply, "it ends before the first observation")
    return items[:200]


def _not_the_form(reply: str, reason: str) -> Failure:
    plain = redact(words.printable_line(reply))[0]
    message = f"the model's reply is not in the requested format ({reason}): {clip(plain, 120)}"
    fix = "nothing of it was stored; run it again, or use --command with a model that follows the format"
    return Failure("OBSERVE_REPLY_INVALID", message, fix)


def _items(name: str, text: str) -> list[Item]:
    """The observations in an element: the whole of a narrative, otherwise each bullet."""
    types = {"narrative": "segment_narrative", "facts": "segment_fact", "fact": "segment_fact"}  # the mirrored CLI's
    bullet = re.compile(r"(?:[-*•–+]|\(?\d{1,3}[.)])[ \t]+")
    annotation = re.compile(r"(?i)(?:[🔴🟡🟢]\ufe0f?\s*)?\[\s*(?:gate|verdict)\s*=[^\]]{0,600}(\]?)")
    groups = [""]
    for line in map(str.strip, text.splitlines()):
        if name != "narrative" and (bullet.match(line) or annotation.match(line)):
            groups.append("")
        groups[-1] += f" {line}"
    items = []
    for group in groups:
        content = " ".join(html.unescape(bullet.sub("", group.strip(), count=1)).split())
        head = annotation.match(content)
        if any(map(str.isalnum, content[head.end() if head and head[1] else 0 :])):  # else it says nothing
            items.append(Item(types.get(name, "observation_text"), clip(content, 2_000)))
    return items


def _tokens(text: str) -> int:
    """An estimate."""
    return gate.width(text) // _CHARS_PER_TOKEN + 1
