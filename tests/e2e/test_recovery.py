"""A user installs, works, and the client compacts: what the model receives then."""

import pytest

from .session import FRAME, HEADING, Case, Session

STORIES = ("webhook-retries", "report-timezone")
SOUGHT = ("failed", "command")
"""Kinds of facts that the note's queries must find."""
HISTORY_GOES_ALONG = {
    "codex": "asks for the summary at the end of the conversation, with all that was injected into it"
}
KEEPS_PROMPTS = {"codex", "copilot", "qwen"}
"""Clients that leave what the user said in the context, word for word; the note repeats none of it."""
REQUESTS_WITHOUT = {"gemini": 1, "qwen": 1, "copilot": 2}
"""Requests after a compaction that no hook can reach; in Copilot CLI also the one beside which it compacts."""
BY_SHELL = {"codex": "writes files with its shell, so a hook is not told which"}


def worked(client: str) -> list[Case]:
    """Both stories; pi in all three modes, OpenClaw also with a gateway, and compacted by command."""
    cases = [Case(client, story) for story in STORIES]
    if client == "openclaw":
        cases = [Case(client, story, mode) for mode in ("local", "gateway", "compact") for story in STORIES]
    if client == "pi":
        cases += [Case("pi", STORIES[0], "print"), Case("pi", STORIES[1], "interactive")]
    return cases


def compacted_twice(client: str) -> list[Case]:
    """Two compactions within a minute; in pi also within a turn."""
    return [Case(client, story) for story in ("double-compaction", *(["double-in-turn"] if client == "pi" else []))]


def written(session: Session) -> set[str]:
    """Names of the files that the story writes."""
    texts = set()
    for step in session.script["steps"]:
        for call in step.get("tool_calls", []):
            path = call["args"].get("path") or call["args"].get("file_path") or call["args"].get("filePath")
            if path:
                texts.add(path.rpartition("/")[2])
    return texts


def left_by_client(session: Session) -> str:
    """What the client keeps of the user's words in the first request after a compaction."""
    if session.case.client not in KEEPS_PROMPTS:
        return ""
    (after,) = session.after_compactions()
    return FRAME.sub("", " ".join(text for request in after[:1] for text in request.texts))


@pytest.mark.cases(of=worked)
def test_session_ends_well(session: Session) -> None:
    outcome = session.outcome
    assert (any(outcome.exit_codes), outcome.timed_out) == (False, False)
    assert (outcome.compactions, outcome.steps_unused) == (1, 0)
    facts = [fact["needle"] for fact in session.script["facts"]]
    assert all(any(request.count(fact) for request in session.requests) for fact in facts)
    summaries = [str(request["reply"]) for request in outcome.requests if request["rule"] == "compact"]
    assert not any(fact in summary for fact in facts for summary in summaries)


@pytest.mark.cases(of=worked)
def test_exactly_one_note_after_the_compaction(session: Session) -> None:
    assert [request.count(HEADING) for request in session.before_compaction()] == [0] * len(session.before_compaction())
    (after,) = session.after_compactions()
    counts = [request.count(HEADING) for request in after]
    grace = REQUESTS_WITHOUT.get(session.case.client, 0)
    assert set(counts) <= {0, 1}, counts
    assert counts[: grace + 1].count(1) >= 1, counts
    assert len({frame for request in after for frame in request.frames() if HEADING in frame}) == 1


@pytest.mark.cases(of=worked)
def test_summariser_gets_none_of_our_texts(session: Session) -> None:
    summaries = [request for request in session.requests if request.rule is not None]
    assert any(request.rule == "compact" for request in summaries)
    earlier = {frame for request in session.before_compaction()[-1:] for frame in request.frames()}
    allowed = earlier if session.case.client in HISTORY_GOES_ALONG else set()
    assert [frame for request in summaries for frame in request.frames() if frame not in allowed] == []
    assert sum(request.count(HEADING) for request in summaries) == 0


@pytest.mark.cases(of=worked)
def test_the_note_contains_task_and_files(session: Session) -> None:
    lines = session.note().splitlines()
    task = next((line for line in lines if line.startswith("**Task:** ")), "")
    assert any(prompt[:20] in (task or left_by_client(session)) for prompt in session.script["prompts"]), task
    assert task or session.case.client in KEEPS_PROMPTS
    assert "joelclaw" not in task, task
    if session.case.client in BY_SHELL:
        return
    assert written(session)
    assert all(name in session.note() for name in written(session)), lines


@pytest.mark.parametrize("kind", SOUGHT)
@pytest.mark.cases(of=worked)
def test_dropped_fact_is_found_by_the_notes_own_queries(session: Session, kind: str) -> None:
    needles = [fact["needle"] for fact in session.script["facts"] if fact["kind"] == kind]
    assert needles
    assert session.queries(), session.note()
    known = [*session.recalled(), left_by_client(session)]
    missing = [needle for needle in needles if not any(needle in text for text in known)]
    assert missing == [], (session.queries(), session.note(), session.recalled())


@pytest.mark.cases(of=worked)
def test_injection_has_an_event(session: Session) -> None:
    of_gateway = "gateway." if session.case.mode in ("gateway", "compact") else ""
    (event,) = session.events(f"{of_gateway}compaction.inject")
    assert event["success"] is True
    assert event["duration_ms"] > 0
    assert event["metadata"]["contentChars"] == len(session.note())


@pytest.mark.cases(of=worked)
def test_every_text_that_the_model_received_has_an_event(session: Session) -> None:
    frames = {frame for request in session.requests for frame in request.frames()}
    actions = ("compaction.inject", "memory.recall.injected", "context.refresh.injected", "project.context.injected")
    events = [event for action in actions for event in session.events(action)]
    assert len(events) >= len(frames)
    given = [event for event in events if event["metadata"].get("result_count") != 0]  # a start may find nothing
    assert all(event["duration_ms"] is not None for event in given), given


@pytest.mark.cases(of=worked)
def test_no_hook_failed(session: Session) -> None:
    for action in ("hook.failed", "hook.timeout", "hook.degraded", "hook.config_invalid"):
        assert session.events(action) == []


@pytest.mark.cases(of=compacted_twice)
def test_second_compaction_within_a_minute_adds_none(session: Session) -> None:
    assert (any(session.outcome.exit_codes), session.outcome.compactions) == (False, 2)
    assert len(session.after_compactions()) == 2
    assert len(session.events("compaction.inject")) == 1
    (skipped,) = session.events("compaction.inject.skipped")
    assert skipped["metadata"]["reason"] == "rapid-recompaction"
    frames = {frame for request in session.requests for frame in request.frames() if HEADING in frame}
    assert len(frames) == 1
    assert max(request.count(HEADING) for request in session.requests) == 1
