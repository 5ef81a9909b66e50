"""The write gate: is a text worth keeping, may an agent see it unasked, and which category is it in? Hot path.

`allow`: a durable fact. `hold`: ambiguous, stored but not injected. `discard`: noise, stored but shown only on request.

An annotation in front of the text decides (the mirrored CLI's form). Otherwise, rules recognise talk about the work,
questions, and texts without words. They do not guess which sentence was a decision.
"""

from __future__ import annotations

from core import TYPE_CHECKING, words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    class Verdict(TypedDict):
        """The gate's verdict. `text` and `category` are those behind and in the annotation."""

        text: str
        verdict: str
        confidence: float
        reason: str
        category: str
        fallback: bool
        """Whether the rules decided, since there was no annotation."""


VERDICTS = ("allow", "hold", "discard")  # the best first
MIN_WIDTH = 12  # letters; the mirrored CLI's trust pass has the same bound
NOT_REMEMBERED = "not remembered: write it as a sentence that says what and why"  # the hint for a discarded text

# How agents open a turn that talks about the work (the mirrored CLI's noise filter, and real transcripts), in lower
# case: calling a tool, announcing a step, summing up.
_TOOL_CALLS = ("<toolcall", "<tool_call", "<tool_use", "<function_calls", "<invoke", "<tool_result")
_PLANS = tuple(
    "## plan summary | # plan summary | **plan summary | plan summary: | should i | shall i | let me | now let me |"
    " i'll now | i will now | now i'll | now i will | now i need to | next, i'll | next i'll | next, i will |"
    " first, i'll | first, let me | i'll start by | i'll begin by | i need to check | would you like me to |"
    " do you want me to | let's start by | todo: | fixme:".split(" | ")
)
_SUMMARIES = tuple(
    "i've updated | i've reviewed | i've completed | i've finished | i've implemented | i've added | i've fixed |"
    " i've created | i've made | i've read | i've analyzed | i have reviewed | i have completed | i have updated |"
    " i have implemented | i understand | here's a summary | here is a summary | here's what i | here is what i |"
    " here's the plan | here is the plan | in summary, | to summarize | to summarise | to recap | based on my review |"
    " based on your request | you're absolutely right | you are absolutely | i'm going to | i am going to".split(" | ")
)
# Followed by punctuation or nothing: "Perfect forward secrecy" is not an acknowledgement.
ACKNOWLEDGEMENTS = tuple(
    "done | all done | ok | okay | sure | sure thing | got it | understood | great | great question | good"
    " question | perfect | excellent | absolutely | certainly | of course | thanks | thank you | sounds good |"
    " will do | you're right | you are right | yes | yep | noted | makes sense | on it | no problem | good catch |"
    " acknowledged | alright".split(" | ")
)
OWN_HEADINGS = (
    "## session recovery", "## relevant memory (auto-retrieved)", "## project context:", "## context refresh",
    "## system knowledge (auto-retrieved)", "<joelclaw-memory",
)  # fmt: skip

_PAUSES = ",.!;:—–\n"

# The words that count for each category (taxonomy v1). Among equals the first category wins: a preference or a rule
# says more about a memory than the system that it is about.
CATEGORY_WORDS = {
    "jc:preferences":
        "prefer prefers preferred preference preferences likes dislikes hates favourite favorite wants style"
        " taste tone habit favours favors favour favor dislike hate loves love want likes please emoji emojis theme"
        " verbose concise spelling",
    "jc:rules-conventions":
        "always never must rule rules convention conventions policy forbidden required standard guideline"
        " guidelines naming lint avoid instead every allowed use don names commit commits docstring docstrings"
        " imports kebab camelcase pascalcase casing format changelog reversible approve",
    "jc:people-relationships":
        "wife husband partner friend friends colleague colleagues manager team teammate boss mother father"
        " brother sister son daughter family birthday customer met introduced introduce leads led reports contact boss"
        " contractor maintainer hired ask talk owner founder",
    "jc:memory-system":
        "memory memories recall recalls observation observations typesense embedding embeddings compaction"
        " checkpoint checkpoints episode episodes dedupe verdict gate inject injected",
    "jc:system-architecture":
        "architecture adr design schema database service services api protocol queue pipeline component"
        " components interface boundary layer layers module modules dependency monolith microservice decided"
        " decision proxy backend frontend monorepo stream streams redis postgres sqlite cache replica endpoint"
        " endpoints graphql grpc bucket bus tenants packages edge chose stored",
    "jc:operations":
        "deploy deployed deploys deployment release rollback restart restarted server daemon cron launchd"
        " systemd docker kubernetes ci build builds test tests command port log logs error errors failed fails"
        " failure timeout incident outage backup migrate migration config configuration env install installed"
        " script worker workers",
    "jc:projects":
        "project projects roadmap milestone deadline repo repository sprint backlog launch mvp feature"
        " features ship ships shipped codename phase quarter beta relaunch rewrite due planned paused goal scope app",
}  # fmt: skip


def judge(text: str) -> Verdict:
    """The verdict on a trimmed text. The short preference "use pnpm" becomes "Preference: use pnpm"."""
    annotated = _annotation(text)
    if annotated is not None:
        return annotated
    if _is_short_preference(text):
        text = f"Preference: {text}"
    verdict, confidence, reason = _judge_by_rules(text)
    return {
        "text": text, "verdict": verdict, "confidence": confidence, "reason": reason, "category": "", "fallback": True,
    }  # fmt: skip


def classify(text: str) -> tuple[str, float, str]:
    """The category that most words of a text count for, the contract's confidence, and "keyword".

    The confidence is .67 to .95. Without any such word: `jc:operations`, .35 and "fallback", as in the contract.
    """
    text_words = set(words.split(text[:20_000]))
    hits = {category: len(text_words.intersection(listed.split())) for category, listed in CATEGORY_WORDS.items()}
    best = max(hits, key=hits.__getitem__)  # the first among equals
    if not hits[best]:
        return "jc:operations", 0.35, "fallback"
    return best, min(0.95, round(0.55 + 0.12 * hits[best], 2)), "keyword"


def width(text: str) -> int:
    """The length of a text in letters; a character of a script without spaces (Chinese, Thai …) counts as three."""
    if text.isascii():
        return len(text)
    return len(text) + 2 * sum("\u0e00" <= char <= "\u0e7f" or (char >= "\u3040" and char.isalpha()) for char in text)


def is_noise(text: str) -> bool:
    """Whether a text is talk about the work, or one of our own injections (ADR-0204): never injected."""
    lower = _folded(text).strip()
    headings = ("## plan summary", "should i:", *OWN_HEADINGS)
    return not lower or _judge_talk(lower) is not None or any(heading in lower for heading in headings)


def is_own(text: str) -> bool:
    """Whether a message in the user's role is one of our injections, not what a person wrote."""
    return text[:200].lower().lstrip().startswith(OWN_HEADINGS)


def begins_with(lower: str, phrases: Sequence[str]) -> bool:
    """Whether a text in lower case begins with one of the phrases, and the phrase is not part of a longer word."""
    return any(lower.startswith(phrase) and not lower[len(phrase) :][:1].isalnum() for phrase in phrases)


def _is_short_preference(text: str) -> bool:
    """Whether a text too short for a statement is a verb and a name: "use pnpm"."""
    if width(text) >= MIN_WIDTH:
        return False
    verb, *names = text.lower().rstrip(".!").split() or [""]
    no_names = ("mind", "again", "more", "less", "not", "no", "problem", "worries", "idea", *words.STOP_WORDS)
    return verb in ("use", "prefer", "avoid", "never", "always", "no") and any(
        len(name) > 1 and name not in (*no_names, *ACKNOWLEDGEMENTS) for name in names
    )


def _judge_by_rules(text: str) -> tuple[str, float, str]:
    """Verdict, confidence and reason of a text without annotation."""
    if width(text) < MIN_WIDTH:
        return "discard", 0.9, "too short to say anything"
    lower = _folded(text)
    if verdict := _judge_talk(lower):
        return verdict
    if lower.startswith("task: "):  # ADR-0203, stage 2: written in the hot zone
        return "allow", 0.8, "the task of a session"
    if not any(map(_is_word, lower.split())):
        return "discard", 0.85, "no words that say what it is about"
    question = lower.rstrip("?？؟ ")
    has_statement = any(end in question for end in (". ", "! ", ".\n", "\n", "。", "！", ": "))
    if lower[-1] in "?？؟" and not has_statement:
        return "hold", 0.7, "a question without its answer"
    return "allow", 0.65, "a statement"


def _judge_talk(lower: str) -> tuple[str, float, str] | None:
    """The verdict on a text in lower case that opens as talk about the work or is redacted; None for any other."""
    if words.is_only_redacted(lower.removeprefix("task: ")):
        return "discard", 0.9, "nothing but a redacted secret"
    if begins_with(lower, _TOOL_CALLS):
        return "discard", 0.85, "a tool call, not a statement"
    if begins_with(lower, _SUMMARIES):
        return "hold", 0.75, "an assistant's summary of its own work"
    if begins_with(lower, _PLANS) and not lower.startswith("let me know"):
        verdict = "hold" if len(lower) > 240 else "discard"  # a long text may contain a fact
        return verdict, 0.8, "announces a step and states no fact"
    for phrase in ACKNOWLEDGEMENTS if lower.startswith(ACKNOWLEDGEMENTS) else ():
        rest = lower[len(phrase) :].lstrip(" ")
        if lower.startswith(phrase) and (not rest or rest[0] in _PAUSES):
            is_bare = width(rest.strip(_PAUSES + " ")) < MIN_WIDTH
            return ("discard", 0.85, "an acknowledgement") if is_bare else ("hold", 0.7, "opens as an acknowledgement")
    return None


def _is_word(chunk: str) -> bool:
    """Whether a chunk is a word of some language, apart from punctuation and hyphens."""
    bare = chunk.strip(".,;:!?()[]{}\"'`*_#-–—…").replace("-", "").replace("/", "").replace("'", "")
    return len(bare) > 1 and bare.isalpha() if bare.isascii() else any(map(str.isalpha, bare))


def _folded(text: str) -> str:
    """The beginning of a text, which the rules look at, in lower case."""
    return text[:4_000].lower().replace("’", "'")


def _annotation(text: str) -> Verdict | None:
    """The verdict of `[gate=allow confidence=.9 category=jc:x reason=why] text`, perhaps behind a marker; else None."""
    has_marker = text.startswith(("🔴", "🟡", "🟢"))  # the mirrored CLI's priorities
    body = text[1:].lstrip("\ufe0f \t\r\n") if has_marker else text
    start = body[:600].lower()
    if not start.startswith("[") or not ("gate" in start or "verdict" in start):
        return None
    import re

    head = re.match(r"""\[((?:"[^"]*"|'[^']*'|[^\]])*)\]""", body[:600])
    parts = re.split(r"(?i)\b(gate|verdict|confidence|conf|category|reason)\s*=", head[1] if head else "")
    fields = {
        name.lower(): value.strip(" ,;\t\n").strip("\"'") for name, value in zip(parts[1::2], parts[2::2], strict=True)
    }
    verdict = (fields.get("gate") or fields.get("verdict") or "").lower()
    if head is None or verdict not in VERDICTS:
        return None
    try:
        confidence = float(fields.get("confidence") or fields.get("conf") or "")
    except ValueError:
        confidence = -1.0
    return {
        "text": body[head.end() :].strip(),
        "verdict": verdict,
        "confidence": confidence if 0 <= confidence <= 1 else 0.65,  # the mirrored CLI's, if none is given
        "reason": " ".join(fields.get("reason", "").split())[:120] or "annotated",  # the mirrored CLI's bound
        "category": fields.get("category", ""),
        "fallback": False,
    }
