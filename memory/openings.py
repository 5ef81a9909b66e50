"""How talk about the work begins, as opposed to what came of it: tables for the write gate.

Agents open their turns with the same few phrases: they announce a step, sum up what they did, or acknowledge. Such a
turn is no memory (the mirrored CLI's junk filter, and what transcripts of agents show). Everything is lower case.
"""

from __future__ import annotations

PLANS = (
    "## plan summary | # plan summary | **plan summary | plan summary: | should i: | should i | shall i | let me"
    " | now let me | i'll now | i will now | now i'll | now i will | now i need to | next, i'll | next i'll |"
    " next, i will | first, i'll | first, let me | i'll start by | i'll begin by |"
    " i need to check | would you like me to | do you want me to | let's start by"
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
TRACES = ("<toolcall", "<tool_call", "<tool_use", "<function_calls", "<invoke ", "<tool_result")


def begins_with(lower: str, phrases: list[str]) -> bool:
    """Whether the text begins with one of the phrases, and the phrase ends where a word does."""
    return lower.startswith(tuple(phrases)) and any(
        lower.startswith(phrase) and not lower[len(phrase) :][:1].isalnum() for phrase in phrases
    )
