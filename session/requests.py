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
# Letters of a prompt that says by itself what is wanted. In any language, "go on" and its like have fewer, as have
# "fix it up" and "option b", which are about something that was said before.
REQUEST_LETTERS = 20
WHOLE_LETTERS = 40  # of a request that surely needs nothing before it
# How the messages of a gateway's machinery begin (the mirrored CLI): a mark, which a person may use too unless it is
# in a heading or a quotation; a label before a colon or in brackets; or words. Labels and words are in lower case and
# behind marks. Clients' own messages never get here: their readers know them.
_MARKS = ("🔔", "⚡", "HEARTBEAT")
_HEADING_MARKS = (*_MARKS, "📋", "❌", "⚠")
_LABELS = "alarm alert cron digest event heartbeat notification reminder watchdog webhook".split()
_OPENINGS = (
    "automated gateway | automated message | automated event | batch digest | gateway digest | daily digest |"
    " signal digest | missed heartbeat | heartbeat timestamp | scheduled task | scheduled reminder | system event |"
    " system reminder | system notification | system message | session recovery | session briefing |"
    " gateway recovery | gateway boot | context recovery | context checkpoint | recovered session |"
    " recovered. standing by | monitor event | background task:"
).split(" | ")
# Words that ask for the state of things, in the languages of most prompts. A question with a mark needs none of them.
_STATE_WORDS = frozenset(
    "status state happening happened progress news sitrep overview summary recap miss missed catch speed"
    " going stand lage lagebericht neues neuigkeiten überblick los état etat point neuf nouveau nouvelles résumé estado"
    " novedades resumen día situación stato novità situazione novidades nieuws stan sytuacja stav läget nytt durum"
    " статус состояние новости нового дела".split()
)
_UNSPACED_STATE_WORDS = "状态 狀態 现状 現状 进展 進捗 近况 情况 怎么样 新消息 状況 最新 상태 상황 현황".split()
# What an English question about the state of things may say besides: "give me a quick status update, please".
_EMPTY_WORDS = frozenset(
    "update updates happening going thing things everything anything something now currently current right recent"
    " recently latest new today far next please just tell give show know catch back quick summarize report still doing"
    " work working stuff hey hello hi ok okay yes no thanks thank let go ahead continue carry keep proceed start stop"
    " wait again more up changed overnight yesterday tonight morning night week hour hours while since last".split()
)


def is_topic(text: str) -> bool:
    """Whether a message is a person's own words about something: no envelope, digest or acknowledgement."""
    plain = own_words(text)
    width = sum(1 if character.isascii() else 2 for character in plain)
    if width < 20 or begins_with(plain.lower(), ("noted",)):
        return False
    telling = {word for word in _telling_words(plain) if word not in _STATE_WORDS}
    return len(telling) >= 2 or any(word >= "\u3040" for word in telling)  # in a script without spaces, of any length


def asks_for_state(text: str) -> bool:
    """Whether a person asks how things are: "status", "catch me up", "how's the telegram channel going?".

    Such a prompt is short and has a word for it, or it is a question that names nothing, in any language.
    """
    plain, order, unknown = _short_prompt(text)
    asks = any(word in _STATE_WORDS or any(part in word for part in _UNSPACED_STATE_WORDS) for word in order)
    is_about_it = not unknown or order[0] in _STATE_WORDS or not plain.isascii() or _is_question(plain)
    return (asks and is_about_it) or is_nameless(text)


def is_nameless(text: str) -> bool:
    """Whether a prompt is a short question without a name, a number, or a word that stands out among English ones.

    So is a single word with a question mark, such as "update?", in any language.
    """
    from core.names import names_in_order

    plain, order, unknown = _short_prompt(text)
    if not order or len(order) > 6 or any(map(str.isdigit, plain)):
        return False
    if any(is_name for _, is_name in names_in_order(plain)):
        return False
    if len(order) == 1:
        return _ends_as_question(plain) and order[0] not in words.STOP_WORDS  # "why?" asks about what was said
    return _is_question(plain) and (not unknown or 2 * len(unknown) > len(order))


def _short_prompt(text: str) -> tuple[str, list[str], list[str]]:
    """A person's short prompt, its words, and those that ask nothing in English; all empty for any other prompt."""
    plain = own_words(text)
    order = words.split(plain) if len(plain) <= LAST_CHARS and "\n" not in plain else []
    known = words.STOP_WORDS | _EMPTY_WORDS | _STATE_WORDS
    return plain if order else "", order, [word for word in order if word not in known]


def _is_question(plain: str) -> bool:
    return _ends_as_question(plain) or plain.lower().startswith(("what", "how", "where are", "any "))


def _ends_as_question(plain: str) -> bool:
    return plain.rstrip(" !.)»”\"'").endswith(("?", "？", "؟"))


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
    return is_request(text) or _telling_word_count(text) >= (1 if len(own_words(text).split()) >= 4 else 2)


def own_words(text: str) -> str:
    """What a person said, without marks and emoji at its start; "" for automated text, commands and thanks."""
    text = text[:4_000].strip()
    first = text[1:].split(maxsplit=1)[:1]
    is_command = text.startswith("/") and first and "/" not in first[0] and "." not in first[0]  # `/compact`, no path
    is_marked = text.lstrip("#> ").startswith(_HEADING_MARKS if text.startswith(("#", ">")) else _MARKS)
    is_placeholder = text.startswith("[") and text.find("]") == len(text) - 1  # `[Image #1]`
    if text.startswith(("<", "‹", "$ ")) or is_placeholder or is_command or is_marked or is_own(text):
        return ""
    marks = "#*>_~-=+|•·›» \t\n"
    starts = (at for at, sign in enumerate(text) if sign not in marks and (sign.isascii() or sign.isalnum()))
    plain = text[next(starts, len(text)) :]
    lower = " ".join(plain.lower().replace("’", "'").split())
    label = next((label for label in _LABELS if begins_with(lower.lstrip("["), (label,))), "")
    is_labelled = label and (lower.startswith("[") or lower[len(label) :].startswith(":"))
    of_automation = (
        "not a human message", "since last digest", "heartbeat_ok", "joelclaw-memory", "joelclaw memory",
        "this is an automated", "do not reply to this message", "acknowledge briefly",
    )  # fmt: skip
    is_automated = is_labelled or begins_with(lower, _OPENINGS) or any(phrase in lower for phrase in of_automation)
    return "" if is_automated or _only_acknowledges(lower) else plain


def last_request(prompts: Sequence[str]) -> str:
    """The last prompt that is a request; if none of the last twelve is, the most telling of them; "" without prompts.

    Prompts are oldest first.
    """
    latest = prompts[:-13:-1]
    return next(filter(is_request, latest), "") or max(latest, key=_telling_word_count, default="")


def open_request(history: History, session: Session, calls: Sequence[Call]) -> str:
    """The requests of the open turn: its first and last request, and its last words: `"…" · then: "…"`.

    If all of them are short ("continue"), the requests that they may be about come first. A request of a turn that has
    ended says so.
    """
    said = history.conversation(READ_CHARS)  # times and prompts; the agent's words are ""
    at = _turn_start(said, calls, session.get("ended_at", 0))
    before = [prompt for _, prompt in said[:at] if prompt]
    opened = [prompt for _, prompt in said[at:] if prompt]
    telling = list(filter(_is_telling, opened)) or opened[-1:]
    asked = list(filter(is_request, telling))
    shown = dict.fromkeys((asked or telling)[:1] + asked[-1:] + telling[-1:], "")
    if not shown:
        shown = dict.fromkeys((list(filter(_is_telling, before)) or before)[-1:], " (turn ended)")
    if not any(is_request(prompt, WHOLE_LETTERS) for prompt in shown):
        earlier = _requests_before([prompt for prompt in before if prompt not in shown][-12:])
        shown = dict.fromkeys(earlier, " (turn ended)") | shown
    return " · then: ".join(
        f'"{opening(prompt, LAST_CHARS if at else LINE_CHARS)}"{ended}'
        for at, (prompt, ended) in enumerate(shown.items())
    )


def talked_about(history: History) -> str:
    """The first request of a session without calls, and the last ones: `"…" | "…"`; "" without requests."""
    asked = list(dict.fromkeys(text for _, text in history.conversation(READ_CHARS) if says_something(text)))
    return " | ".join(f'"{opening(text, LAST_CHARS)}"' for text in (*asked[:1], *asked[1:][-3:]))


def _requests_before(prompts: Sequence[str]) -> list[str]:
    """The last request that needs nothing before it, and the one after it that says most; repeated prompts say nothing.

    A short prompt counts as a request here if it has several words, and not only function words: it is quoted behind
    the request that it may belong to, so that nothing has to be guessed about it.
    """
    whole = next((at for at in range(len(prompts) - 1, -1, -1) if is_request(prompts[at], WHOLE_LETTERS)), -1)
    later = [prompt for prompt in prompts[whole + 1 :] if _is_telling(prompt) and prompts.count(prompt) == 1]
    later = [prompt for prompt in later if is_request(prompt) or _telling_word_count(prompt)]
    return list(filter(None, (prompts[whole] if whole >= 0 else "", last_request(later))))


def opening(prompt: str, characters: int) -> str:
    """The beginning of a prompt on one line, without marks, code and quotations."""
    outside = "".join(f"\n{prompt[:READ_CHARS]}".split("\n```")[::2]).splitlines()
    own = [line for line in outside if line.strip() and line.lstrip()[0] != ">"]
    text = " ".join(line.strip().lstrip("#>*- ") for line in own or prompt[:READ_CHARS].splitlines())
    return clip(one_line(text), characters, characters // 2)


def is_in_summary(summary: str, line: str) -> bool:
    """Whether a client's summary repeats the request that a line of ours quotes."""
    asked = line.partition('"')[2].rstrip('"').lower().split(CUT)
    known = " ".join(summary.lower().split())
    return all(" ".join(part.split()) in known for part in asked)


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


def _telling_word_count(prompt: str) -> int:
    """How many telling words a person's prompt has."""
    return len(_telling_words(own_words(prompt)))


def _telling_words(text: str) -> list[str]:
    """The words of a text without the function words of its language: none of "go on" or "sí, adelante"."""
    order = words.split(text[:READ_CHARS])
    empty = words.STOP_WORDS.union(words.function_words(order))
    return [word for word in order if word not in empty]


def _is_telling(prompt: str) -> bool:
    """Whether a prompt may say more than "go on": it is a request, or has several words or a number."""
    return len(own_words(prompt).split()) > 1 or prompt[:1].isdigit() or is_request(prompt)


def _only_acknowledges(lower: str) -> bool:
    """Whether a message consists of acknowledgements ("ok thanks, sounds good")."""
    rest, taken = lower, " "
    while taken:
        rest = rest.strip(" ,.!;:—–-")
        phrases = filter(rest.startswith, ACKNOWLEDGEMENTS)
        taken = next((phrase for phrase in phrases if not rest[len(phrase) :][:1].isalnum()), "")
        rest = rest[len(taken) :]
    return not rest
