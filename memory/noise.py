"""Which texts are never injected, and never taken for what a person wants (ADR-0204 and its boot follow-up)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# How agents open a turn that talks about the work instead of what came of it, in lower case (the mirrored CLI's noise
# filter, and what transcripts show): announcing a step, summing up, acknowledging, calling a tool.
PLANS = (
    "## plan summary | # plan summary | **plan summary | plan summary: | should i: | should i | shall i | let me"
    " | now let me | i'll now | i will now | now i'll | now i will | now i need to | next, i'll | next i'll |"
    " next, i will | first, i'll | first, let me | i'll start by | i'll begin by |"
    " i need to check | would you like me to | do you want me to | let's start by | todo: | fixme:"
).split(" | ")
SUMMARIES = (
    "i've updated | i've reviewed | i've completed | i've finished | i've implemented | i've added | i've fixed |"
    " i've created | i've made | i've gone | i've read | i've analyzed | i've analysed | i have reviewed | i have"
    " completed | i have updated | i have implemented | i understand that | i understand you | here's a summary |"
    " here is a summary | here's what i | here is what i | here's the plan | here is the plan | in summary, | to"
    " summarize | to summarise | to recap | based on my review | based on your request | you're absolutely right |"
    " you are absolutely | i'm going to | i am going to"
).split(" | ")
# Followed by a mark of punctuation or by nothing: "Perfect forward secrecy" is no acknowledgement.
ACKNOWLEDGEMENTS = (
    "done | all done | ok | okay | sure | sure thing | got it | understood | great | great question | good"
    " question | perfect | excellent | absolutely | certainly | of course | thanks | thank you | sounds good |"
    " will do | you're right | you are right | yes | yep | noted | makes sense | on it | no problem | good catch |"
    " acknowledged | alright"
).split(" | ")
TRACES = ("<toolcall", "<tool_call", "<tool_use", "<function_calls", "<invoke", "<tool_result")
_PROCEDURAL = ("## plan summary", "should i:")
_OURS = (
    "## session recovery", "## relevant memory (auto-retrieved)", "## project context:", "## context refresh",
    "## system knowledge (auto-retrieved)", "<joelclaw-memory",
)  # fmt: skip
_PAUSES = ",.!;:—–\n"
_READ_CHARS = 4_000


def is_noise(text: str) -> bool:
    """Whether a memory's text is procedural sludge that no agent should be handed."""
    lower = text[:_READ_CHARS].lower().replace("’", "'").strip()
    return not lower or any(mark in lower for mark in (*_PROCEDURAL, *_OURS)) or bool(talk(lower))


def talk(lower: str) -> str:
    """Which talk about the work a text in lower case opens with; "" for none."""
    for kind, phrases in (("trace", TRACES), ("plan", PLANS), ("summary", SUMMARIES)):
        if begins_with(lower, phrases):
            return kind
    return "acknowledgement" if acknowledged(lower) is not None else ""


def acknowledged(lower: str) -> str | None:
    """What stands behind an acknowledgement and its pause; None where a text opens with none."""
    for phrase in ACKNOWLEDGEMENTS if lower.startswith(tuple(ACKNOWLEDGEMENTS)) else ():
        behind = lower[len(phrase) :].lstrip(" ")
        if lower.startswith(phrase) and behind[:1] in _PAUSES:  # "" is in it
            return behind
    return None


def is_own(text: str) -> bool:
    """Whether a message in the user's role is one of our injections come back, not what a person said."""
    return text[:200].lower().lstrip().startswith(_OURS)


def begins_with(lower: str, phrases: Sequence[str]) -> bool:
    """Whether the text begins with one of the phrases, and the phrase ends where a word does."""
    return lower.startswith(tuple(phrases)) and any(
        lower.startswith(phrase) and not lower[len(phrase) :][:1].isalnum() for phrase in phrases
    )
