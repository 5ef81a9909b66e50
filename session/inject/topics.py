"""Topics: what a person talks about, told from what only stands in the user's role (ADR-0204, gateway follow-up).

A gateway's user messages are mostly automated: digests, heartbeats, reminders, command output. A recall for one of
those brings memories of anything. So only real conversation is a topic, and without one nothing is refreshed.
"""

from __future__ import annotations

from core import words
from core.speech import own_words
from memory.noise import ACKNOWLEDGEMENTS, begins_with, is_own
from session.state import task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from session.state.schema import Message

LEAST_CHARS = 20
_READ_CHARS = 4_000
_LEAST_WORDS = 2

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
# The same where a colon, a dash or nothing follows: "cron jobs fail at night" is a person's.
_LABELS = (
    "heartbeat | digest | watchdog | cron | reminder | notification | webhook | alert | alarm | background task |"
    " monitor event | event | events | timestamp | scheduled | automated"
).split(" | ")
_LABEL_ENDS = (":", "—", "–", "(", "[", "|", "- ")
# Anywhere in a message.
_TELLTALE = (
    *("not a human message", "since last digest", "additional event(s)", "acknowledge briefly", "heartbeat_ok"),
    *(
        "plan summary",
        "should i:",
        "do not reply to this message",
        "this is an automated",
        "joelclaw-memory",
        "joelclaw memory",
    ),
)
_OUTPUT = (
    "$ | % | npm err! | npm warn | traceback (most recent call last) | error: | warning: | fatal: | warn: | info: |"
    " debug: | diff --git | index: | @@ | total | drwx | -rw- | commit | on branch | { | [{ | [info] | [warn] | [error]"
    " | [debug] | exit code | command: | stdout: | stderr: | make: | gcc: | ==> | --- | +++ | file "
).split(" | ")
_REPORTS = ("i'll ", "i will ", "i've ", "i have ", "here's ", "here is ")
_MARKS = "#*>_~-=+|•·›» \t\n"
# Words that ask for the state of things without saying of which.
_EMPTY_WORDS = frozenset(
    "status state update updates progress happening going thing things everything anything something now currently"
    " current right recent recently latest news new today far next please just tell give show know catch back quick"
    " summary summarize overview report sitrep still doing work working stuff hey hello hi ok okay yes no thanks thank"
    " let go ahead continue carry keep proceed start stop wait again more up happened"
    " changed overnight yesterday tonight morning night week hour hours while since last".split()
)


def query_of(messages: Sequence[Message], message: str = "") -> str:
    """The recall query of a session's real topics, at most 120 characters; empty without a seed.

    Args:
        messages: the user messages that the session's state keeps, oldest first.
        message: a new one that is not kept yet, as it was typed.
    """
    topics: list[Message] = []  # the newest first, as many as count
    if message and is_topic(message):
        fresh = task.message(message)
        if fresh is not None and not any(
            entry["hash"] == fresh["hash"] and is_topic(entry["text"]) for entry in messages
        ):
            topics.append(fresh)
    for entry in reversed(messages):
        if len(topics) == task.MESSAGES_ASKED:
            break
        if is_topic(entry["text"]):
            topics.append(entry)
    return task.query_of(topics[::-1])


def is_topic(text: str) -> bool:
    """Whether a message is a person's own words about something: no envelope, digest, acknowledgement or output.

    What he pasted beside them does not count, wherever it stands.
    """
    text, is_automated = _own(text)
    plain = _bare(text)
    if is_automated or sum(1 if character.isascii() else 2 for character in plain) < LEAST_CHARS:
        return False
    if not _is_said(text, plain):
        return False
    said = {word for word in words.split(plain) if word not in words.STOP_WORDS and word not in _EMPTY_WORDS}
    least = 1 if is_status_question(text) else _LEAST_WORDS  # what it asks about is a topic
    return len(said) >= least or any(not word.isascii() for word in said)


def _own(text: str) -> tuple[str, bool]:
    """What a person wrote of a message, and whether no person did: told by how the whole begins."""
    own = own_words.of(text)
    if own == text:
        return text[:_READ_CHARS].strip(), False
    return own[:_READ_CHARS].strip(), _is_of_program(text[:_READ_CHARS].strip())


def _is_of_program(text: str) -> bool:
    """Whether a client or a program of ours wrote it; a person's own marks are words: `<log>`, not `<command-name>`."""
    tag = text[1:60].partition(">")[0].partition(" ")[0] if text[:1] == "<" else ""
    return "-" in tag or "_" in tag or _is_command(text) or _is_automated(text, _lower(_bare(text)))


def _lower(plain: str) -> str:
    return " ".join(plain.lower().replace("’", "'").split())


def _is_automated(text: str, lower: str) -> bool:
    is_labelled = begins_with(lower, _AUTOMATED) or _is_labelled(lower)
    return is_labelled or any(mark in lower for mark in _TELLTALE) or is_own(text)


def _is_said(text: str, plain: str) -> bool:
    """Whether a person said it, however short it is; `plain` is the text without the marks at its start."""
    if text.startswith(("<", "‹")) or _is_command(text):
        return False
    lower = _lower(plain)
    return not (_is_automated(text, lower) or _acknowledges(lower) or _is_output(text, lower))


def _bare(text: str) -> str:
    """The text without the marks and emoji at its start."""
    start = 0
    for character in text:
        if character in _MARKS or not (character.isascii() or character.isalnum()):
            start += 1
        else:
            break
    return text[start:]


def _is_labelled(lower: str) -> bool:
    lower = lower.lstrip("[(")
    for label in _LABELS:
        if lower.startswith(label):
            rest = lower[len(label) :].lstrip(" ])")
            if not rest or rest.startswith(_LABEL_ENDS):
                return True
    return False


def _is_command(text: str) -> bool:
    """A client's own command (`/compact`), as opposed to a path."""
    first = text[1:].split(maxsplit=1)[:1]
    return text.startswith("/") and bool(first) and "/" not in first[0] and "." not in first[0]


def _acknowledges(lower: str) -> bool:
    """Whether all of a message is acknowledgements ("ok thanks, sounds good"), or an agent's report follows them."""
    rest = lower
    for _ in range(8):
        rest = rest.lstrip(" ,.!;:—–-")
        for phrase in ACKNOWLEDGEMENTS:
            if rest.startswith(phrase) and not rest[len(phrase) :][:1].isalnum():
                rest = rest[len(phrase) :]
                break
        else:
            break
    return not rest.strip(" ,.!;:—–-") or (rest != lower and rest.startswith(_REPORTS))


def _is_output(text: str, lower: str) -> bool:
    """Whether it is what a program printed: known openings, log lines, or hardly a letter in it."""
    raw = text[:200].lower()
    for mark in _OUTPUT:
        if raw.startswith(mark) and (not mark[-1].isalpha() or not raw[len(mark) :][:1].isalpha()):
            if mark in ("total", "commit", "file "):  # "total 48", "commit 1a2b…": prose goes on with a word
                if raw[len(mark) :].strip()[:1].isdigit():
                    return True
                continue
            return True
    if lower[:4].isdigit() and lower[4:5] == "-" and lower[5:7].isdigit():  # a log line's date
        return True
    letters = sum(character.isalpha() or character == " " or not character.isascii() for character in text)
    return letters < len(text) * 0.6


_STATUS = (
    "what's happening | what is happening | whats happening | what's going on | what is going on | whats going on |"
    " what's the status | what is the status | whats the status | what's our status | what's the state of things |"
    " where are we | where were we | where do we stand | where do things stand | how are things | how is it going |"
    " how's it going | hows it going | how far are we | how far along | what did i miss | what have i missed | what"
    " are you working on | what are we working on | what were we doing | what are we doing | catch me up | bring me"
    " up to speed | fill me in | status update | status of | status on | status report | status please | status"
    " check | any updates | any update | any news | anything new | give me an update | give me a status | give me"
    " the status | sitrep"
).split(" | ")
# Of these the whole is a question of status, or what follows is about time: "what changed in v3" is not.
_STATUS_BARE = (
    "status | update | updates | progress | news | current status | what now | what's up | what changed | what has"
    " changed | what's changed | what's new | whats new | what is new | what happened | what's the latest"
).split(" | ")
_TIMES = (
    "since | today | overnight | lately | recently | so far | while | yesterday | last night | this morning | in the"
    " last | during | now | right now | here | with us"
).split(" | ")
_GOING = (" going", " doing", " coming along", " looking")
_LONGEST_QUESTION = 80


def is_status_question(text: str) -> bool:
    """Whether a person asks what is going on: a short message that is, or begins with, one of the known questions."""
    plain = " ".join(_bare(text[:_READ_CHARS].strip()).lower().replace("’", "'").split()).rstrip(" ?!.…")
    for opening in ("hey", "hi", "hello", "ok", "okay", "so", "and", "please", "quick"):
        if plain.startswith((opening + " ", opening + ",")):
            plain = plain[len(opening) :].lstrip(" ,")
    if len(plain) > _LONGEST_QUESTION:  # a long message that begins so tells more than it asks
        return False
    for phrase in _STATUS_BARE:
        if plain.startswith(phrase) and (
            not plain[len(phrase) :] or begins_with(plain[len(phrase) :].lstrip(), _TIMES)
        ):
            return True
    if begins_with(plain, _STATUS):
        return True
    return plain.startswith(("how's the ", "how is the ", "how are the ")) and plain.endswith(_GOING)


# What a prompt holds that lets the work go on or closes it: "yes, commit and push it please", "let's try again".
_GOING_ON = frozenset(
    "yes yeah yep no nope sure ok okay please thanks thank great good nice cool perfect right fine correct agreed"
    " sounds looks lets let go ahead on continue proceed resume carry keep going do it try retry again now then also"
    " just maybe first next both all everything done commit commits committed push pushed pr prs pull request raise"
    " draft create open merge rebase make change changes changed this that them these those option one two want like"
    " need like think know see look help start stop wait well so hm hmm oh ah whoops sorry actually really use add put"
    " don doesn didn isn".split()
)
# Before the verb of a request: "great, now could you please add …".
_BEFORE = frozenset(
    "yes yeah yep ok okay sure please pls thanks thank great good nice cool perfect alright right fine so but now"
    " then also next first just let lets s us we you i should can could would d want need like to hey hi hello again"
    " actually quickly one more thing".split()
)
# With which a request begins whose object has no article: "upgrade react to 19". With one, any verb will do.
_VERBS = frozenset(
    "add adjust align allow build bump cache center centre change clean cleanup configure connect convert cover create"
    " debug delete deploy describe design disable document downgrade drop enable explain expose extract filter find fix"
    " format generate handle hide implement improve increase install integrate investigate list make mark migrate mock"
    " move optimise optimize parse port prevent print publish reduce refactor release remove rename render repair"
    " replace restore revert review rewrite rework rotate set setup show simplify sort split support switch tidy"
    " translate turn update upgrade write".split()
)
# A step of what is under way, where no more than a word follows: "run the tests", "use sudo", "what did I execute?".
# Where, which, who and when look something up.
_STEPS = frozenset("run rerun check verify test use keep leave undo stop start open close put apply what".split())
_FAULTS = frozenset("broken fails failing fail crashes crash hangs leaks wrong missing slow".split())
_ARTICLES = frozenset("the a an our my all every each".split())
# Before an article too, and no imperative: "love the colours", "after the release"; nor is "fixed the login bug".
_NO_VERBS = frozenset(
    "love loving appreciate enjoy got found saw had ran sent seems after before during once until unless since under"
    " over inside outside without within between against across".split()
)
_VERBS_IN_ED = frozenset("embed seed feed speed shed".split())
_BEFORE_ALL = ("it", "that", "this", "them", "those", "these")
_QUESTIONS = frozenset("why how".split())
_MEANING_WORDS = 3
_REQUEST_CHARS = 400
# Of scripts without spaces, of which a few characters say as much as a sentence.
_GOING_ON_UNSPACED = (
    "请继续 继续 好的 谢谢 可以 是的 没问题 请 好 对 嗯 はい 続けてください 続けて お願いします"
    " ありがとう 네 계속 고마워"
).split()
_LEAST_UNSPACED = 4


def is_request(text: str) -> bool:
    """Whether a message says what a person wants done: not that the work may go on, or that it is well.

    A long one does by its words. A short one does where it is an imperative or a question with a word of its own:
    "Fix the login bug", but not "fix it", "run the tests" or "yes, push it". Beside something pasted "fix it" does.
    """
    whole = text
    text, is_automated = _own(text)
    if is_automated:
        return False
    if is_topic(text) and (len(_meaning(text[:1000])) >= _MEANING_WORDS or not text.isascii()):
        return True
    plain = _bare(text)
    if len(plain) > _REQUEST_CHARS or not _is_said(text, plain) or is_status_question(text):
        return False
    if not plain.isascii():
        for phrase in _GOING_ON_UNSPACED:
            plain = plain.replace(phrase, " ")
        if sum(character >= "\u3040" and character.isalpha() for character in plain) >= _LEAST_UNSPACED:
            return True
    said = words.split(plain)
    is_polite = 0
    while is_polite < len(said) and said[is_polite] in _BEFORE:
        is_polite += 1
    order = said[is_polite:]
    is_beside = text != whole[:_READ_CHARS].strip() and not _VERBS.isdisjoint(order[:1])
    if not order or (len(order) > 1 and order[1] in _BEFORE_ALL):
        return bool(order) and is_beside
    about = {word for word in _meaning(" ".join(order[1:])) if not word.isdigit() or len(word) > 1}
    if order[0] in _VERBS or order[0] in _QUESTIONS:
        return bool(about) or is_beside
    if order[0] in _STEPS:
        return len(about) > 1
    if not _FAULTS.isdisjoint(order) and order[0] in _ARTICLES:
        return len(about) > 1
    known = (_GOING_ON, _EMPTY_WORDS, _NO_VERBS, words.STOP_WORDS)
    is_verb = not any(order[0] in some for some in known) and (order[0][-2:] != "ed" or order[0] in _VERBS_IN_ED)
    return is_verb and len(order) > 1 and order[1] in _ARTICLES and bool(about)


def _meaning(text: str) -> set[str]:
    """The words that tell one request from another."""
    return {word for word in words.split(text) if word not in words.STOP_WORDS and word not in _GOING_ON}
