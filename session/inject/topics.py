"""What a person talks about and asks for, told from what only stands in the user's role (ADR-0204).

A gateway's user messages are mostly automated: digests, heartbeats, reminders, command output. A recall for one of
those brings memories of anything. So only real conversation is a topic, and without one nothing is refreshed.
"""

from __future__ import annotations

from core import TYPE_CHECKING, words
from memory.gate import ACKNOWLEDGEMENTS, begins_with, is_own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from session.records import Message

LEAST_CHARS = 20
_READ_CHARS = 4_000
_LEAST_WORDS, _REQUEST_WORDS = 2, 3
_LETTERS = 0.6
_PAUSES = " ,.!;:—–-"
_MARKS = "#*>_~-=+|•·›» \t\n"
# How an automated message begins once emoji, quote and heading marks before it are gone. All lower case.
_AUTOMATED = (
    "automated gateway event | automated message | automated event | batch digest | gateway digest | daily digest |"
    " heartbeat timestamp | missed heartbeat | scheduled task | scheduled reminder | system event | system reminder"
    " | system notification | system message | session recovery | session briefing | compaction summary | context"
    " refresh | context checkpoint | recovered session | relevant memory (auto-retrieved | project context: | system"
    " knowledge (auto-retrieved | this session is being continued from a previous conversation | the conversation"
    " history before this point was compacted | caveat: the messages below | [request interrupted | another language"
    " model started to solve | post-compaction | task notification"
).split(" | ")
# How the gateway's own envelopes begin, word for word.
_ENVELOPES = (
    "## 📋 Batch Digest", "## 🔔 Gateway", "> ⚡ **Automated gateway event**", "> ⚡ **Automated gateway digest",
    "# Context Recovery", "## Context Refresh", "## Gateway Recovery", "HEARTBEAT", "Recovered. Standing by.", "Noted ",
    "Noted.", "Noted,", "Noted!", "Noted-", "## ⚠️ MISSED HEARTBEAT", "## Gateway Boot",
)  # fmt: skip
# The same where a colon, a dash or nothing follows: "cron jobs fail at night" is a person's.
_LABELS = (
    "heartbeat | digest | watchdog | cron | reminder | notification | webhook | alert | alarm | background task |"
    " monitor event | event | events | timestamp | scheduled | automated"
).split(" | ")
_LABEL_ENDS = (":", "—", "–", "(", "[", "|", "- ")
# Anywhere in a message.
_TELLTALE = (
    *("not a human message", "since last digest", "additional event(s)", "acknowledge briefly", "heartbeat_ok"),
    *("plan summary", "should i:", "do not reply to this message", "this is an automated"),
    *("joelclaw-memory", "joelclaw memory"),
)
# How the output of a program begins: some where no letter follows, some where a number does.
_OUTPUT = (
    "$ | % | npm err! | npm warn | traceback (most recent call last) | error: | warning: | fatal: | warn: | info: |"
    " debug: | diff --git | index: | @@ | drwx | -rw- | on branch | { | [{ | [info] | [warn] | [error]"
    " | [debug] | exit code | command: | stdout: | stderr: | make: | gcc: | ==> | --- | +++"
).split(" | ")
_COUNTED = ("total ", "commit ", "file ")
# Words that ask for the state of things without saying of which.
_EMPTY_WORDS = frozenset(
    "status state update updates progress happening going thing things everything anything something now currently"
    " current right recent recently latest news new today far next please just tell give show know catch back quick"
    " summary summarize overview report sitrep still doing work working stuff hey hello hi ok okay yes no thanks thank"
    " let go ahead continue carry keep proceed start stop wait again more up happened"
    " changed overnight yesterday tonight morning night week hour hours while since last".split()
)
# What a prompt holds that lets the work go on or closes it: "yes, commit and push it please", "run the tests".
_GOING_ON = frozenset(
    "yes yeah yep no nope sure ok okay please thanks thank great good nice cool perfect right fine correct agreed"
    " sounds looks lets let go ahead on continue proceed resume carry keep going do it try retry again now then also"
    " just maybe first next both all everything done commit commits committed push pushed pr prs pull request raise"
    " draft create open merge rebase make change changes changed this that them these those option one two want like"
    " need like think know see look help start stop wait well so hm hmm oh ah whoops sorry actually really use add put"
    " don doesn didn isn run rerun check verify test tests".split()
)
# With which a request begins, so that one more word says what is wanted: "fix login", "why login".
_VERBS = frozenset(
    "add adjust align allow build bump cache change clean configure connect convert cover create debug delete"
    " deploy describe design disable document drop enable explain expose extract filter find fix format generate"
    " handle hide how implement improve install integrate investigate list make migrate mock move optimize paginate"
    " parse port prevent print publish reduce refactor release remove rename render repair replace restore revert"
    " review rewrite rotate set setup show simplify sort split support switch translate turn update upgrade why"
    " write".split()
)
_ARTICLES = frozenset("the a an our my all every each".split())
_FAULTS = frozenset("broken fails failing fail failed crashes crash hangs leaks wrong missing slow".split())
# Of scripts without spaces, of which a few characters say as much as a sentence.
_GOING_ON_UNSPACED = (
    "请继续 继续 好的 谢谢 可以 是的 没问题 请 好 对 嗯 はい 続けてください 続けて お願いします"
    " ありがとう 네 계속 고마워"
).split()
_LEAST_UNSPACED = 4


def query_of(messages: Sequence[Message], message: str = "") -> str:
    """The recall query of the real topics among the messages that a session's state keeps, oldest first, and a new one
    as it was typed: at most 120 characters; empty without a seed.
    """
    from session.state import rules

    fresh = rules.message(message) if message and is_topic(message) else None
    known = [entry for entry in messages if is_topic(entry["text"])]
    if fresh is not None and all(entry["hash"] != fresh["hash"] for entry in known):
        known.append(fresh)
    return rules.query_of(known)


def is_topic(text: str) -> bool:
    """Whether a message is a person's own words about something: no envelope, digest, acknowledgement or output."""
    plain = "" if text.lstrip().startswith(_ENVELOPES) else said(text)
    if sum(1 if character.isascii() else 2 for character in plain) < LEAST_CHARS:
        return False
    telling = {word for word in words.split(plain) if word not in words.STOP_WORDS and word not in _EMPTY_WORDS}
    return len(telling) >= _LEAST_WORDS or any(not word.isascii() for word in telling)


def is_request(text: str) -> bool:
    """Whether a message says what a person wants done: not that the work may go on, or that it is well."""
    plain = said(text)
    for phrase in () if plain.isascii() else _GOING_ON_UNSPACED:
        plain = plain.replace(phrase, " ")
    if sum(character >= "\u3040" and character.isalpha() for character in plain) >= _LEAST_UNSPACED:
        return True
    order = words.split(plain[:1000])
    while order and order[0] not in _VERBS and (order[0] in words.STOP_WORDS - _ARTICLES or order[0] in _GOING_ON):
        order = order[1:]
    telling = {word for word in order if word not in words.STOP_WORDS and word not in _GOING_ON and len(word) > 1}
    if len(telling) >= _REQUEST_WORDS and is_topic(text):
        return True
    if not order or not telling - {order[0]}:
        return False
    is_fault = order[0] in _ARTICLES and not _FAULTS.isdisjoint(order) and len(telling) > 1
    return order[0] in _VERBS or is_fault


def said(text: str) -> str:
    """What a person said, without the marks and emoji at its start; "" where no person did, or it says nothing."""
    text = text[:_READ_CHARS].strip()
    starts = (at for at, sign in enumerate(text) if sign not in _MARKS and (sign.isascii() or sign.isalnum()))
    plain = text[next(starts, len(text)) :]
    lower = " ".join(plain.lower().replace("’", "'").split())
    first = text[1:].split(maxsplit=1)[:1]
    is_command = text.startswith("/") and first and "/" not in first[0] and "." not in first[0]  # `/compact`, no path
    if text.startswith(("<", "‹")) or is_command or is_own(text):
        return ""
    if begins_with(lower, _AUTOMATED) or any(mark in lower for mark in _TELLTALE):
        return ""
    labelled = lower.lstrip("[(")
    for label in filter(labelled.startswith, _LABELS):
        rest = labelled[len(label) :].lstrip(" ])")
        if not rest or rest.startswith(_LABEL_ENDS):
            return ""
    return "" if _acknowledges(lower) or _is_output(text, lower) else plain


def _acknowledges(lower: str) -> bool:
    """Whether all of a message is acknowledgements ("ok thanks, sounds good")."""
    rest, taken = lower, " "
    while taken:
        rest = rest.strip(_PAUSES)
        said = (one for one in ACKNOWLEDGEMENTS if rest.startswith(one) and not rest[len(one) :][:1].isalnum())
        taken = next(said, "")
        rest = rest[len(taken) :]
    return not rest


def _is_output(text: str, lower: str) -> bool:
    """Whether it is what a program printed: known openings, log lines, or hardly a letter in it."""
    raw = text[:200].lower()
    if any(raw.startswith(mark) and not (mark[-1].isalpha() and raw[len(mark) :][:1].isalpha()) for mark in _OUTPUT):
        return True
    if raw.startswith(_COUNTED) and raw.partition(" ")[2].lstrip()[:1].isdigit():  # prose goes on with a word
        return True
    if lower[:4].isdigit() and lower[4:5] == "-" and lower[5:7].isdigit():  # a log line's date
        return True
    letters = sum(character.isalpha() or character == " " or not character.isascii() for character in text)
    return letters < len(text) * _LETTERS
