"""`joelclaw compaction summarize`: the structured summary of what a compaction drops, by a model or by quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.answer import Answer
from cli.compaction import steps
from clients import file_operations
from core import config
from core.errors import Failure
from core.process import model_command
from session.compaction import reading, summary

if TYPE_CHECKING:
    from clients.entry import Transcript
    from session.compaction.summary import Summary

_NOTHING = "there is nothing to compact yet: this sums up the whole conversation"


def summarize(options: dict[str, Any]) -> Answer:
    """What a compaction would put in the place of the messages that it drops; of the whole session where it drops none.

    Raises:
        Failure: TRANSCRIPT_* for what cannot be read; MODEL_NOT_FOUND or MODEL_NOT_CONFIGURED where `--command` names
            what cannot be run. What else goes wrong with a model is told beside the extractive summary.
    """
    settings = config.load()
    transcript = reading.read(options["transcript"], options["client"] or "")
    prepared = steps.prepared(transcript, options, settings)
    if prepared is not None and not (prepared.entries_to_summarize or prepared.turn_prefix_entries):
        prepared = None
    command: str = options["command"]
    told: dict[str, Any] = {
        "instructions": options["instructions"],
        "ask": model_command.from_config(settings, command),
        "max_prompt": settings.whole("model.max_prompt_bytes"),
        "strict": bool(command.strip()),
    }
    problems = list(transcript.problems)
    if prepared is None:
        problems.append(_NOTHING)
        made = _of_all(transcript, told)
    else:
        made = summary.summarize(prepared, **told)
    if made.source == "extractive" and options["instructions"].strip():
        problems.append("--instructions only focuses a model's summary; this one quotes the transcript")
    result = {
        **made.json(),
        "firstKeptEntryId": prepared.first_kept_entry_id if prepared else None,
        "tokensBefore": prepared.tokens_before if prepared else None,
        "isSplitTurn": prepared.is_split_turn if prepared else False,
        "problems": [*problems, *made.problems],
    }
    return Answer(result, text=made.text if options["raw"] else None)


def _of_all(transcript: Transcript, told: dict[str, Any]) -> Summary:
    messages = tuple(reading.messages(transcript, transcript.entries))
    if not any(block.text.strip() or block.name for message in messages for block in message.blocks):
        raise Failure(
            "TRANSCRIPT_EMPTY",
            f"nothing was said in {transcript.path}",
            "name a session in which something was said",
        )
    files = file_operations.together(entry.files for entry in transcript.entries)
    return summary.summarize_messages(messages, files, **told)
