"""What a person asked for: which prompts are a person's own words, which are requests, and the line that quotes them.

A gateway's user messages are mostly automated: digests, heartbeats, reminders, command output. A recall for one of
those would bring memories of anything, so only a person's own words are a topic (ADR-0204). Hot path.
"""

from __future__ import annotations

from core import TYPE_CHECKING, words
from core.clock import HOUR_MS
from core.quoting import CUT, clip, cost, one_line
from core.store.branches import History
from memory.gate import ACKNOWLEDGEMENTS, begins_with, is_own

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.records import Call, Session

READ_CHARS = 2_000  # of a prompt
LINE_CHARS = 150  # of a request that is quoted
LAST_CHARS = 100  # of the later ones
# Letters of a prompt that says by itself what is wanted. In any language, "go on" and its like have fewer, as have
# "fix it up" and "option b", which are about something that was said before.
REQUEST_LETTERS = 20
WHOLE_LETTERS = 40  # of a request that surely needs nothing before it
# How an automated message begins, in lower case, once emoji and marks of quotes and headings are stripped.
_AUTOMATED = (
    "automated gateway event | automated message | automated event | batch digest | gateway digest | daily digest |"
    " heartbeat timestamp | missed heartbeat | scheduled task | scheduled reminder | system event | system reminder"
    " | system notification | system message | session recovery | session briefing | compaction summary | context"
    " refresh | context checkpoint | recovered session | relevant memory (auto-retrieved | project context: | system"
    " knowledge (auto-retrieved | this session is being continued from a previous conversation | the conversation"
    " history before this point was compacted | caveat: the messages below | [request interrupted | another language"
    " model started to solve | post-compaction | task notification"
).split(" | ")
# How the gateway's own envelopes begin, word for word. The marks in front are missing in the messages of a state.
_ENVELOPES = (
    "📋 Batch Digest", "🔔 Gateway", "⚡ **Automated gateway event**", "⚡ **Automated gateway digest",
    "Context Recovery", "Context Refresh", "Gateway Recovery", "HEARTBEAT", "Recovered. Standing by.", "Noted ",
    "Noted.", "Noted,", "Noted!", "Noted-", "⚠️ MISSED HEARTBEAT", "Gateway Boot",
)  # fmt: skip
# Words that ask for the state of things without naming any.
_EMPTY_WORDS = frozenset(
    "status state update updates progress happening going thing things everything anything something now currently"
    " current right recent recently latest news new today far next please just tell give show know catch back quick"
    " summary summarize overview report sitrep still doing work working stuff hey hello hi ok okay yes no thanks thank"
    " let go ahead continue carry keep proceed start stop wait again more up happened"
    " changed overnight yesterday tonight morning night week hour hours while since last".split()
)
# Words that ask for the state of things, in the languages of most prompts. A question with a mark needs none of them.
_STATE_WORDS = frozenset(
    "status state happening happened progress news sitrep overview summary recap miss missed catch speed update updates"
    " going"
    " stand lage lagebericht neues neuesten neuigkeiten überblick zwischenstand statusbericht los"
    " état etat point neuf nouveau nouvelles situation résumé avancement bilan"
    " estado novedades resumen día situación pasa pasando stato novità aggiornamento aggiornamenti situazione succede"
    " novidades situação andamento acontecendo nieuws overzicht gebeurt stan nowego sytuacja stav novinky läget nytt"
    " durum durumu tila статус состояние новости нового происходит дела ситуация стан новини".split()
)
_UNSPACED_STATE_WORDS = (
    "状态 狀態 现状 現狀 进展 進展 进度 近况 情况 情況 怎么样 怎麼樣 新消息 状況 現状 最新 ステータス 進捗 どうなって"
    " 상태 상황 현황"
).split()
# Verbs that begin a request rather than a question about the state of things.
_VERBS = frozenset(
    "add adjust align allow build bump cache change clean configure connect convert cover create debug delete"
    " deploy describe design disable document drop enable explain expose extract filter find fix format generate"
    " handle hide how implement improve install integrate investigate list make migrate mock move optimize paginate"
    " parse port prevent print publish reduce refactor release remove rename render repair replace restore revert"
    " review rewrite rotate set setup show simplify sort split support switch translate turn update upgrade why"
    " write".split()
)


def is_topic(text: str) -> bool:
    """Whether a message is a person's own words about something: no envelope, digest, acknowledgement or output."""
    plain = "" if text.lstrip("#> \n\t").startswith(_ENVELOPES) else own_words(text)
    width = sum(1 if character.isascii() else 2 for character in plain)
    telling = {word for word in words.split(plain) if word not in words.STOP_WORDS and word not in _EMPTY_WORDS}
    return width >= 20 and (len(telling) >= 2 or any(not word.isascii() for word in telling))


def asks_for_state(text: str) -> bool:
    """Whether a person asks how things are: "status", "catch me up", "how's the telegram channel going?".

    Such a prompt is short and has a word for it, or it is a question that names nothing, in any language.
    """
    plain, order, unknown = _short_prompt(text)
    is_asking = _is_question(plain) or len(order) <= 5 or not unknown or order[0] in ("status", "state", "news")
    is_order = bool(unknown) and not _is_question(plain) and order[0] in _VERBS
    asks = any(word in _STATE_WORDS or any(part in word for part in _UNSPACED_STATE_WORDS) for word in order)
    return (asks and is_asking and not is_order) or is_nameless(text)


def is_nameless(text: str) -> bool:
    """Whether a prompt is a short question without a name, a number, or a word that stands out among English ones."""
    from core.names import names_in_order

    plain, order, unknown = _short_prompt(text)
    is_long_enough = len(order) >= 2 or (len(plain) >= 5 and plain[0] >= "\u3040")  # a script without spaces
    if not (is_long_enough and len(order) <= 6 and _is_question(plain)) or any(map(str.isdigit, plain)):
        return False
    has_name = any(is_name for _, is_name in names_in_order(plain))
    return not has_name and (not unknown or 2 * len(unknown) > len(order))


def _short_prompt(text: str) -> tuple[str, list[str], list[str]]:
    """A person's short prompt, its words, and those that ask nothing in English; all empty for any other prompt."""
    plain = "" if text.lstrip("#> \n\t").startswith(_ENVELOPES) else own_words(text)
    order = words.split(plain) if len(plain) <= LAST_CHARS and "\n" not in plain else []
    known = words.STOP_WORDS | _EMPTY_WORDS | _STATE_WORDS
    return plain if order else "", order, [word for word in order if word not in known]


def _is_question(plain: str) -> bool:
    ends = plain.rstrip(" !.)»”\"'").endswith(("?", "？", "؟"))
    return ends or plain.lower().startswith(("what", "how", "where are", "any "))


def is_request(text: str, letters: int = REQUEST_LETTERS) -> bool:
    """Whether a message says what a person wants done, and not only that the work may go on or is fine.

    It names an identifier or a file, begins with an English verb ("fix login"), or has that many letters. A sign of a
    script without spaces counts as several.
    """
    from core.names import names_in_order

    plain = own_words(text)
    width = sum(
        3 if "\u4e00" <= sign < "\ua000" else 2 if sign >= "\u3040" else 1
        for sign in plain
        if sign.isalnum() or "\u0300" <= sign < "\u2000"  # vowel signs are no letters
    )
    order = words.split(plain[:READ_CHARS])
    is_order = letters == REQUEST_LETTERS and len(order) > 1 and order[0] in _VERBS
    return width >= letters or is_order or any(is_name for _, is_name in names_in_order(plain[:READ_CHARS]))


def own_words(text: str) -> str:
    """What a person said, without marks and emoji at its start; "" for automated text, commands, output and thanks."""
    text = text[:4_000].strip()
    marks = "#*>_~-=+|•·›» \t\n"
    starts = (at for at, sign in enumerate(text) if sign not in marks and (sign.isascii() or sign.isalnum()))
    plain = text[next(starts, len(text)) :]
    lower = " ".join(plain.lower().replace("’", "'").split())
    first = text[1:].split(maxsplit=1)[:1]
    is_command = text.startswith("/") and first and "/" not in first[0] and "." not in first[0]  # `/compact`, no path
    if text.startswith(("<", "‹")) or is_command or is_own(text):
        return ""
    of_automation = (
        "not a human message", "since last digest", "additional event(s)", "acknowledge briefly", "heartbeat_ok",
        "plan summary", "should i:", "do not reply to this message", "this is an automated", "joelclaw-memory",
        "joelclaw memory",
    )  # fmt: skip
    if begins_with(lower, _AUTOMATED) or any(phrase in lower for phrase in of_automation):
        return ""
    # A colon, a dash or nothing follows a label: a person writes "cron jobs fail at night".
    labels = (
        "heartbeat | digest | watchdog | cron | reminder | notification | webhook | alert | alarm | background task |"
        " monitor event | event | events | timestamp | scheduled | automated"
    ).split(" | ")
    labelled = lower.lstrip("[(")
    for label in filter(labelled.startswith, labels):
        rest = labelled[len(label) :].lstrip(" ])")
        if not rest or rest.startswith((":", "—", "–", "(", "[", "|", "- ")):
            return ""
    return "" if _only_acknowledges(lower) or _is_output(text, lower) else plain


def last_request(prompts: Sequence[str], letters: int = REQUEST_LETTERS) -> str:
    """The last prompt that is a request; prompts are oldest first. "" if none of the last twelve is a request."""
    return next((prompt for prompt in prompts[:-13:-1] if is_request(prompt, letters)), "")


def open_request(db: apsw.Connection, session: Session, calls: Sequence[Call]) -> str:
    """The requests of the open turn: its first and last request, and its last words: `"…" · then: "…"`.

    If the last words only choose ("1+2", "yes"), the agent's question follows. If all of them are short, the last
    request before them comes first. A single word ("continue") is left out. A request of a turn that has ended says so.
    """
    history = History(db, session["id"])
    said = history.conversation(READ_CHARS)  # times and prompts; the agent's words are ""
    ended_at = session.get("ended_at", 0)  # of the last turn; 0 if the client does not record that
    at = _turn_start(said, calls, ended_at)
    before = [prompt for _, prompt in said[:at] if prompt]
    opened = [prompt for _, prompt in said[at:] if prompt]
    telling = [prompt for prompt in opened if _is_telling(prompt)] or opened[-1:]
    asked = [prompt for prompt in telling if is_request(prompt)]
    shown = dict.fromkeys((asked or telling)[:1] + asked[-1:] + telling[-1:], "")
    if not shown:
        shown = dict.fromkeys(([prompt for prompt in before if _is_telling(prompt)] or before)[-1:], " (turn ended)")
    last = next(reversed(shown), "")
    offer = ""
    if last and not is_request(last) and len(last) <= 60:  # a longer prompt is no choice
        chosen_at = max(when for when, prompt in said if prompt == last)
        offer = offered(last, history.last_answer(chosen_at))
    if not (offer or any(is_request(prompt, WHOLE_LETTERS) for prompt in shown)):
        rest = [prompt for prompt in before if prompt not in shown]
        requests = filter(None, (last_request(rest, WHOLE_LETTERS), last_request(rest)))
        shown = dict.fromkeys(requests, " (turn ended)") | shown
        if not _is_telling(last) and len(shown) > 1:
            del shown[last]
    return " · then: ".join(
        f'"{opening(prompt, LAST_CHARS if at else LINE_CHARS)}"{ended}'
        for at, (prompt, ended) in enumerate(shown.items())
    ) + (f' · to the agent\'s "{offer}"' if offer else "")


def offered(choice: str, answer: str) -> str:
    """The options of an agent's answer that a prompt chooses by number; else the question that the answer ends with."""
    import re

    answer, most = answer.replace("**", ""), 190
    last_line = answer.rstrip().rpartition("\n")[2]
    numbers = [
        {"first": "1", "second": "2", "third": "3"}.get(word, word)
        for word in re.findall(r"\b(?:\d|first|second|third)\b", choice.lower())
    ]
    options = dict(re.findall(r"(?mi)^\W*(?:option |#)?(\d)[.):]\s*(\S.*)$", answer))
    chosen = [f"{number}. {options[number]}" for number in numbers if number in options]
    if not chosen and (numbers or not last_line.endswith("?")):
        return ""
    chosen = chosen or [re.split(r"(?<=[.!:]) ", last_line)[-1]]
    return " ".join(clip(one_line(option), most // len(chosen)) for option in chosen)[:most]


def opening(prompt: str, characters: int) -> str:
    """A prompt on one line without marks or quotations; a plan by its title.

    A long prompt is cut at the end of a line if possible. A single paragraph is cut in its middle, because the
    open question often comes last.
    """
    outside = "".join(f"\n{prompt[:READ_CHARS]}".split("\n```")[::2]).splitlines()
    own = [line for line in outside if line.strip() and line.lstrip()[0] != ">"]
    parts = [part.strip() for part in own or prompt[:READ_CHARS].splitlines() if part.strip()]
    if len(parts) > 1 and parts[0].endswith(":") and parts[1].startswith("# "):
        parts = parts[1:2]
    text = "\n".join(part.lstrip("#>*- ") for part in parts)
    end = text.rfind("\n", characters // 2, characters - 1) if len(text) > characters else -1
    if end < 0 and "\n" not in text and len(prompt) < READ_CHARS and len(text) > characters:
        tail = text[-(characters * 2 // 5) :].partition(" ")[2]
        both = f"{clip(one_line(text), characters - len(tail) - 1)} {one_line(tail)}"
        if cost(both) <= characters // 2:
            return both
    return clip(one_line(text if end < 0 else f"{text[:end]} {CUT}"), characters, characters // 2)


def is_in_summary(summary: str, line: str) -> bool:
    """Whether a client's summary repeats the request that a line of ours quotes."""
    asked = line.partition('"')[2].rstrip('"').lower().split(CUT)
    known = " ".join(summary.lower().split())
    return all(" ".join(part.split()) in known for part in asked)


def _turn_start(said: Sequence[tuple[int, str]], calls: Sequence[Call], ended_at: int) -> int:
    """The index in `said` at which the open turn begins.

    It follows the last turn that ended (`ended_at`), and the last words of the agent that no call followed before the
    user's next words. In a turn that goes on, the agent has worked since.
    """
    times = sorted(call["at"] for call in calls if call["at"] is not None)
    earlier = times[:]
    for at in range(len(said) - 1, 0, -1):
        spoke, text = said[at]
        while earlier and earlier[-1] > spoke:
            earlier.pop()
        if text and spoke - max(said[at - 1][0], *earlier[-1:], 0) > 2 * HOUR_MS:  # whatever ended the turn before
            ended_at = max(ended_at, said[at - 1][0])
            break
    over = sum(at <= ended_at for at, _ in said)
    is_recorded = ended_at and sum(bool(text) for _, text in said[over:]) <= 12
    over *= bool(is_recorded)
    until = 1 << 62
    for at in range(len(said), 0, -1):
        spoke, text = said[at - 1]
        while times and times[-1] >= until:
            times.pop()
        last = times[-1] if times else 0
        if not text and last < spoke and (at == len(said) or said[at][1]):
            asked = next((when for when, prompt in reversed(said[: at - 1]) if prompt), 0)
            if not is_recorded or (at < len(said) and asked < last):
                return max(at, over)
        until = spoke
    return over


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


def _is_output(text: str, lower: str) -> bool:
    """Whether a program printed it: known openings, log lines, or hardly a letter."""
    raw = text[:200].lower()
    openings = (
        "$ | % | npm err! | npm warn | traceback (most recent call last) | error: | warning: | fatal: | warn: | info: |"
        " debug: | diff --git | index: | @@ | drwx | -rw- | on branch | { | [{ | [info] | [warn] | [error]"
        " | [debug] | exit code | command: | stdout: | stderr: | make: | gcc: | ==> | --- | +++"
    ).split(" | ")
    for opening in filter(raw.startswith, openings):
        if not (opening[-1].isalpha() and raw[len(opening) :][:1].isalpha()):
            return True
    if raw.startswith(("total ", "commit ", "file ")) and raw.partition(" ")[2].lstrip()[:1].isdigit():
        return True
    if lower[:4].isdigit() and lower[4:5] == "-" and lower[5:7].isdigit():  # the date of a log line
        return True
    letters = sum(character.isalpha() or character == " " or not character.isascii() for character in text)
    return letters < len(text) * 0.6
