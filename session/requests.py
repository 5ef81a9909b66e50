"""What a person asked for: which prompts are a person's own words, which are requests, and the line that quotes them.

A gateway's user messages are mostly automated: digests, heartbeats, reminders, command output. A recall for one of
those would bring memories of anything, so only a person's own words are a topic (ADR-0204). Hot path.
"""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.quoting import CUT, clip, one_line
from memory.gate import ACKNOWLEDGEMENTS, begins_with, is_own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.records import Call, Session
    from core.store.branches import History

READ_CHARS = 2_000  # of a prompt
LINE_CHARS = 150  # of a request that is quoted
LAST_CHARS = 100  # of the later ones
# Letters of a prompt that says by itself what to do. In any language, "go on" and its like have fewer, as have
# "fix it up" and "option b", which are about something that was said before.
REQUEST_LETTERS = 20
WHOLE_LETTERS = 40  # of a request that surely needs nothing before it
_THANKS = frozenset(words.split(" ".join(ACKNOWLEDGEMENTS)))
# How words for the state of things begin, in the languages of most prompts. A question with a mark needs none of them.
_STATE_STEMS = tuple(
    "status state sitrep happen going progress news recap catch miss summar overview speed situa lage neues überblick"
    " état nouv estado novedad día resum novità novid staat stand nieuws nytt läge stan stav durum статус состоян нов"
    " 状 狀 情况 消息 最新 进展 近况 상황 상태 현황".split()
)
_ASKING = ("what", "how", "where", "any", "give me", "bring me")
_LABELS = "alarm alert cron digest event heartbeat notification reminder watchdog webhook".split()


def is_topic(text: str) -> bool:
    """Whether a message is a person's own words about something: no envelope, digest or acknowledgement."""
    plain = own_words(text)
    width = sum(1 if character.isascii() else 2 for character in plain)
    if width < 20 or _is_automated(plain):
        return False
    telling = _telling_words(plain)
    return len(telling) >= 2 or any(word >= "\u3040" for word in telling)  # in a script without spaces, of any length


def asks_for_state(text: str) -> bool:
    """Whether a person asks how things are: "status", "catch me up", "how's the telegram channel going?".

    Such a prompt is short and has a word for it, or it is a question that names nothing, in any language.
    """
    from core.names import names_in_order

    plain = own_words(text)
    order = words.split(plain[:LAST_CHARS])
    if not order or _is_automated(plain) or any(is_name for _, is_name in names_in_order(plain)):
        return False
    has_mark = plain.rstrip(" !.)»”\"'").endswith(("?", "？", "؟"))
    is_question = has_mark or begins_with(plain.lower(), _ASKING)
    most_words = 9 if is_question else 5 if order[0] in words.STOP_WORDS else 3  # "what's going on", "catch me up"
    if len(order) <= most_words and any(
        word.startswith(stem) or (stem in word and not stem.isascii()) for word in order for stem in _STATE_STEMS
    ):
        return True
    telling = _telling_words(plain)  # "why?" asks about what was said
    return is_question and len(order) <= 6 and len(telling) < 2 and len(telling or order[1:]) > 0


def _is_automated(text: str) -> bool:
    """Whether a message begins as those of a gateway's machinery do (the mirrored CLI), and hardly a person's.

    That is with a heading, a quotation, an emoji, a word in capitals, or a label: "[cron]", "Watchdog: …".
    """
    first = text.split(maxsplit=1)[0]
    is_label = first.endswith(":") or (len(first) > 4 and first.isupper() and first.isascii() and first != text)
    begins = begins_with(text.lower(), ("noted", "recovered. standing by"))
    return first[0] in "#>[-" or _is_emoji(first[0]) or is_label or begins


def _is_emoji(sign: str) -> bool:
    return "\u2190" <= sign < "\u3000" or "\U0001f000" <= sign < "\U00020000"


def is_request(text: str, letters: int = REQUEST_LETTERS) -> bool:
    """Whether a message says what a person wants done, and not only that the work may go on or is fine.

    It names an identifier or a file, or has that many letters. A sign of a script without spaces counts as several.
    """
    from core.names import names_in_order

    plain = own_words(text)
    width = sum(
        3 if "\u4e00" <= sign < "\ua000" else 2 if sign >= "\u3040" else 1
        for sign in plain
        if sign.isalnum() or "\u0300" <= sign < "\u2000"  # vowel signs are no letters
    )
    return width >= letters or any(is_name for _, is_name in names_in_order(plain[:READ_CHARS]))


def says_something(text: str) -> bool:
    """Whether a person's prompt is worth listing: it is a request, or has two telling words ("fix the login bug").

    One is enough in a sentence of four words ("try the gannet way").
    """
    return is_request(text) or len(_telling_words(text)) >= (1 if len(own_words(text).split()) >= 4 else 2)


def own_words(text: str) -> str:
    """What a person said; "" for commands of the client, thanks, and what a gateway's machinery or a client wrote."""
    text = text[:4_000].strip()
    first = text[1:].split(maxsplit=1)[:1]
    is_command = text.startswith("/") and first and "/" not in first[0] and "." not in first[0]  # `/compact`, no path
    is_placeholder = text.startswith("[") and text.find("]") == len(text) - 1  # `[Image #1]`
    is_digest = text.startswith(("#", ">")) and _is_emoji(text.lstrip("#> ")[:1])
    label = text.partition(" ")[0]
    is_labelled = (label[:1] == "[" or label[-1:] == ":") and label.strip("[]:").lower() in _LABELS
    is_message = is_labelled or text.startswith(("<", "‹", "HEARTBEAT", "⚡", "🔔", "This is an automated"))
    is_foreign = is_message or is_placeholder or is_digest or is_own(text) or words.is_only_redacted(text)
    return "" if is_command or is_foreign or _THANKS.issuperset(words.split(text)) else text


def last_request(prompts: Sequence[str]) -> str:
    """The last prompt that is a request; if none of the last twelve is, the most telling of them; "" without prompts.

    Prompts are oldest first.
    """
    latest = prompts[:-13:-1]
    return next(filter(is_request, latest), "") or max(
        latest, key=lambda prompt: len(_telling_words(prompt)), default=""
    )


def open_request(history: History, session: Session, calls: Sequence[Call], summary: str = "", extra: int = 0) -> str:
    """The requests of the open turn: its first and last request, and its last words: `"…" · then: "…"`.

    If all of them are short ("continue"), the requests that they may be about come first. A request of a turn that has
    ended says so. It is "" if a client's summary repeats all of them. `extra` is the characters beyond the usual.
    """
    # times and prompts; the agent's words are ""
    said = [(at, prompt) for at, prompt in history.conversation(READ_CHARS) if not words.is_only_redacted(prompt)]
    at = _turn_start(said, calls, session.get("ended_at", 0))
    before = [prompt for _, prompt in said[:at] if prompt]
    opened = [prompt for _, prompt in said[at:] if prompt]
    telling = list(filter(says_something, opened)) or opened[-1:]
    asked = list(filter(is_request, telling))
    shown = dict.fromkeys((asked or telling)[:1] + asked[-1:] + telling[-1:], "")
    if not any(is_request(prompt, WHOLE_LETTERS) for prompt in shown):
        earlier = [prompt for prompt in before if prompt not in shown][-12:]
        found = _requests_before(earlier) or ([] if shown else earlier[-1:])
        shown = dict.fromkeys(found, " (turn ended)") | shown
    quoted = [opening(prompt, (LAST_CHARS if at else LINE_CHARS) + extra) for at, prompt in enumerate(shown)]
    known = " ".join(summary.lower().translate(str.maketrans("<>`", "‹›'")).split())  # as `one_line` writes them
    if all(" ".join(part.split()) in known for text in quoted for part in text.lower().split(CUT)):
        return ""
    return " · then: ".join(f'"{text}"{ended}' for text, ended in zip(quoted, shown.values(), strict=True))


def talked_about(history: History) -> str:
    """The first request of a session without calls, and the last ones: `"…" | "…"`; "" without requests."""
    asked = list(dict.fromkeys(text for _, text in history.conversation(READ_CHARS) if says_something(text)))
    return " | ".join(f'"{opening(text, LAST_CHARS)}"' for text in (*asked[:1], *asked[1:][-3:]))


def _requests_before(prompts: Sequence[str]) -> list[str]:
    """The last request that needs nothing before it, and the most telling prompt after it, without repeated prompts.

    A short prompt is quoted behind the request that it may belong to, so that nothing has to be guessed about it.
    """
    whole = next((at for at in range(len(prompts) - 1, -1, -1) if is_request(prompts[at], WHOLE_LETTERS)), -1)
    later = [prompt for prompt in prompts[whole + 1 :] if says_something(prompt) and prompts.count(prompt) == 1]
    return list(filter(None, (prompts[whole] if whole >= 0 else "", last_request(later))))


def opening(prompt: str, characters: int) -> str:
    """The beginning of a prompt on one line, without marks, code and quotations."""
    outside = "".join(f"\n{prompt[:READ_CHARS]}".split("\n```")[::2]).splitlines()
    own = [line for line in outside if line.strip() and line.lstrip()[0] != ">"]
    text = " ".join(line.strip().lstrip("#>*- ") for line in own or prompt[:READ_CHARS].splitlines())
    return clip(one_line(text), characters, characters // 2)


def _turn_start(said: Sequence[tuple[int, str]], calls: Sequence[Call], ended_at: int) -> int:
    """The index in `said` at which the open turn begins: after the last turn that ended (`ended_at`, 0 if unknown).

    If that is unknown, it begins after the last words of the agent that no call followed before the user's next words:
    in a turn that goes on, the agent has worked since.
    """
    if ended_at:
        return sum(at <= ended_at for at, _ in said)
    times = sorted(call["at"] for call in calls if call["at"] is not None)
    until = 1 << 62
    for at in range(len(said), 0, -1):
        spoke, text = said[at - 1]
        while times and times[-1] >= until:
            times.pop()
        if not text and (at == len(said) or said[at][1]) and not (times and times[-1] >= spoke):
            return at
        until = spoke
    return 0


def _telling_words(prompt: str) -> list[str]:
    """A person's words without the function words of their language: none of "go on" or "sí, adelante"."""
    order = words.split(own_words(prompt)[:READ_CHARS])
    empty = words.STOP_WORDS.union(words.function_words(order))
    return [word for word in order if word not in empty]
