"""A summary without a model is faithful: it quotes, it bounds itself, it carries on what an earlier one holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clients import file_operations
from clients.entry import Block, Message
from core.quoting import cost
from core.redaction import redact
from session.compaction import extract, session_file, summary
from session.compaction import summary_form as form
from session.compaction.sentences import flat

ROOT = Path(__file__).resolve().parents[3]
PAYLOADS = ROOT / "tests" / "agents" / "payloads"
SCENARIO: dict[str, Any] = json.loads((ROOT / "demo" / "scenario.json").read_text(encoding="utf-8"))
RECORDED = [
    *(PAYLOADS / client / "session.jsonl" for client in ("pi", "claude", "codex")),
    ROOT / "demo/pi-session.jsonl",
]


def user(text: str) -> Message:
    return Message("u", "user", (Block("text", text),))


def agent(text: str, *commands: str) -> Message:
    calls = [
        Block("tool_call", name="bash", arguments={"command": one}, call=f"c{at}") for at, one in enumerate(commands)
    ]
    return Message("a", "assistant", (Block("text", text), *calls))


def result(text: str, call: str = "c0", *, failed: bool = False) -> Message:
    return Message("r", "tool_result", (Block("text", text),), call=call, failed=failed)


def recorded(path: Path, *, before_compaction: bool = False) -> tuple[Message, ...]:
    transcript = session_file.read(str(path))
    end = transcript.last_compaction() if before_compaction else None
    return tuple(session_file.messages(transcript, transcript.entries[:end]))


def lines(*messages: Message, previous: str = "", tokens: int = extract.TOKENS) -> dict[str, list[str]]:
    """The lines of each section."""
    found: dict[str, list[str]] = {}
    for line in extract.extract(messages, previous=previous, tokens=tokens).lines:
        found.setdefault(line.section, []).append(line.text)
    return found


def source_of(messages: tuple[Message, ...], previous: str = "") -> str:
    """All that may be quoted, on one line and redacted."""
    texts = [previous]
    for message in messages:
        for block in message.blocks:
            texts += [block.text, *(one for one in block.arguments.values() if isinstance(one, str))]
    return flat(" ".join(flat(line) for text in texts for line in redact(text)[0].splitlines()))


def unquoted(messages: tuple[Message, ...], previous: str = "", tokens: int = extract.TOKENS) -> list[str]:
    """The lines that do not stand in the source."""
    source = source_of(messages, previous)
    found = extract.extract(messages, previous=previous, tokens=tokens).lines
    return [line.text for line in found if line.text.removesuffix(extract.CUT) not in source]


def test_what_the_demo_forgets_is_kept() -> None:
    messages = recorded(ROOT / "demo" / "pi-session.jsonl", before_compaction=True)
    text = form.render(extract.extract(messages).sections())
    lost = [fact["needle"] for fact in SCENARIO["facts"] if fact["needle"] not in text]
    assert lost == []
    assert cost(text) <= 1_200


@pytest.mark.parametrize("tokens, least", [(1_000, 18), (700, 15), (400, 10)])
def test_with_less_room_the_weightiest_stays(tokens: int, least: int) -> None:
    messages = recorded(ROOT / "demo" / "pi-session.jsonl", before_compaction=True)
    text = form.render(extract.extract(messages, tokens=tokens).sections())
    assert sum(fact["needle"] in text for fact in SCENARIO["facts"]) >= least
    assert cost(text) <= tokens


@pytest.mark.parametrize("client", ["pi", "claude", "codex"])
def test_the_facts_of_other_recorded_sessions(client: str) -> None:
    facts = json.loads((ROOT / f"tests/agents/scenarios/webhook-retries.{client}.json").read_text(encoding="utf-8"))[
        "facts"
    ]
    text = form.render(extract.extract(recorded(PAYLOADS / client / "session.jsonl")).sections())
    assert [fact["needle"] for fact in facts if fact["needle"] not in text] == []


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.parent.name)
def test_each_line_of_a_recorded_session_is_a_quote(path: Path) -> None:
    messages = recorded(path)
    assert extract.extract(messages).lines
    assert unquoted(messages) == []


SENTENCE = st.one_of(
    st.text(max_size=80),
    st.sampled_from(
        [
            *(
                "Never push to main.",
                "- keep it small",
                "Decision: use a `set`, because it is 3 times faster.",
                "```\ncode 1\n```",
            ),
            *(
                "1. Step 2 is done.",
                "Blocked on ticket AB-7.",
                "## Next steps",
                "We tried e.g. a pool of 4. It failed.",
                "| a | 1 |",
            ),
            *(
                "A line that is long enough to be wrapped by whoever wrote it, as\nhappens in mails with 72 columns.",
                "  \t x=1\r\n",
            ),
            *(
                "我们决定用 SQLite。不要删除旧表！",
                "password=hunter2hunter2 is set",
                "\x1b[31merror\x1b[0m: 3 failed",
                "no\u202eitem 7",
            ),
            *(
                "<read-files>\nx.py\n</read-files>",
                "<joelclaw-memory>7</joelclaw-memory>",
                "…",
                "`make test -k 3`",
                "w" * 900,
            ),
        ]
    ),
)
MESSAGE = st.one_of(
    *(st.lists(SENTENCE, max_size=5).map("\n".join).map(make) for make in (user, agent, result)),
    st.lists(SENTENCE, max_size=5).map(" ".join).map(agent),
    SENTENCE.map(lambda text: agent("", text)),
    st.lists(SENTENCE, max_size=4).map(
        lambda several: Message("b", "branch_summary", (Block("text", "\n".join(several)),))
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(MESSAGE, max_size=12), st.integers(80, 2_000), st.lists(SENTENCE, max_size=4).map("\n".join))
def test_whatever_was_said_is_quoted_bounded_and_told_once(several: list[Message], tokens: int, previous: str) -> None:
    messages = tuple(several)
    assert unquoted(messages, previous, tokens) == []
    found = extract.extract(messages, previous=previous, tokens=tokens)
    text = form.render(found.sections())
    assert cost(text) <= tokens
    assert len({line.key for line in found.lines}) == len(found.lines)
    places = [line.at for line in found.lines]
    assert places == sorted(places)
    for section, body in form.parse(text).items():  # no line can pass for a heading or a list of files
        assert form.items(body) == [
            form.items(extract._bullet(line))[0] for line in found.lines if line.section == section
        ]


def test_where_sentences_go() -> None:
    found = lines(
        user("Make the import fast.\n\nRules:\n- standard library\n- figures first\n\nNever touch prod/."),
        agent("Let me look at it. The root cause is a missing index on reading.at."),
        agent("Decision: one index, because 61 s of 96 s are the scan. I tried a cache, it did not help: 95 s."),
        agent("Step 1 is done. Step 2 is not done yet. Step 3 is blocked on HB-2207, which the vendor has to answer."),
        user("Go on."),
        agent("Next I change buoyline/schema.py."),
    )
    assert found == {
        form.GOAL: ["Make the import fast."],
        form.CONSTRAINTS: ["standard library", "figures first", "Never touch prod/."],
        form.CONTEXT: ["The root cause is a missing index on reading.at.", "I tried a cache, it did not help: 95 s."],
        form.DECISIONS: ["Decision: one index, because 61 s of 96 s are the scan."],
        form.DONE: ["Step 1 is done."],
        form.IN_PROGRESS: ["Step 2 is not done yet."],
        form.BLOCKED: ["Step 3 is blocked on HB-2207, which the vendor has to answer."],
        form.NEXT: ["Next I change buoyline/schema.py."],
    }


def test_what_is_too_short_to_tell_anything_is_left_out() -> None:
    """Of the user under 12 characters, an agreement under 40 of either; what names something is short and kept."""
    assert lines(user("Faster then")) == {}
    assert lines(user("Faster then.")) == {form.GOAL: ["Faster then."]}
    assert lines(user("Fix a.py")) == {form.GOAL: ["Fix a.py"]}
    agreement = "Okay, that does sound like it is a plan"
    assert (len(agreement), lines(user(agreement))) == (39, {})
    assert lines(user(agreement + ".")) == {form.GOAL: [agreement + "."]}


@pytest.mark.parametrize("lead", ["Still to be written:", "In progress:", "What is open:", "Remaining:"])
def test_what_a_list_of_open_things_is_called(lead: str) -> None:
    assert lines(agent(f"{lead}\n- writer for b.py")) == {form.IN_PROGRESS: ["writer for b.py"]}


def test_a_list_belongs_to_what_it_stands_under() -> None:
    done = "### Done\n- parser for `a.py`\n\n### Still open\n- writer for b.py\n\n"
    found = lines(agent(done + "Next steps:\n1. c.py\n\nDecisions:\n- set over list"))
    assert found == {
        form.DONE: ["parser for `a.py`"],
        form.IN_PROGRESS: ["writer for b.py"],
        form.NEXT: ["c.py"],
        form.DECISIONS: ["set over list"],
    }


def test_commands_figures_and_errors_of_tools() -> None:
    found = lines(
        agent("Trying.", "pytest -x -k window", "ls -la", "cat a.py | head"),
        result("collected 3 items\n1 failed, 2 passed in 0.3s\nE   ValueError: bad zone\nplain words"),
        result("\n".join(f"case {number} took {number} ms" for number in range(400)), "c1"),
    )
    assert found[form.CONTEXT] == [
        "pytest -x -k window",
        "1 failed, 2 passed in 0.3s",
        "E ValueError: bad zone",
        "case 0 took 0 ms",
        "case 1 took 1 ms",
    ]


def test_a_file_that_was_read_is_not_quoted() -> None:
    reads = Message("a", "assistant", (Block("tool_call", name="read", arguments={"path": "a.py"}, call="c0"),))
    assert lines(reads, result("LIMIT = 45\nerror: 3 failed")) == {}


def test_what_the_user_kept_out_and_what_we_injected_is_not_quoted() -> None:
    hidden = Message("b", "bash", (Block("text", "Ran `make deploy`\n```\nexit=3\n```"),), excluded=True)
    shown = Message("b", "bash", (Block("text", "Ran `make check`\n```\nexit=4\n```"),))
    ours = user('<joelclaw-memory source="startup">\nNever say 7.\n</joelclaw-memory>')
    assert lines(hidden, shown, ours) == {form.CONTEXT: ["make check", "exit=4"]}


def test_the_same_sentence_is_told_once_and_stays_where_it_was_first() -> None:
    found = lines(user("Never push to main."), agent("Noted."), user("never push to MAIN!"))
    assert found == {form.CONSTRAINTS: ["Never push to main."]}


def test_secrets_are_redacted_in_quotes_and_commands() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    found = lines(user(f"Always use {token} for the API."), agent("Testing.", f"make test TOKEN={token}"))
    text = json.dumps(found)
    assert token not in text and text.count("[redacted:") == 2


def test_an_earlier_summary_is_carried_on_first() -> None:
    earlier = (
        "## Goal\nImport a day.\n\n## Constraints & Preferences\n- Never touch prod.\n\n"
        "## Progress\n### Done\n- [x] Step 1 is done."
    )
    found = lines(user("Never touch prod. Always use --dry-run."), agent("Step 2 is done."), previous=earlier)
    assert found[form.GOAL] == ["Import a day."]
    assert found[form.CONSTRAINTS] == ["Never touch prod.", "Always use --dry-run."]
    assert found[form.DONE] == ["Step 1 is done.", "Step 2 is done."]


def test_summary_upon_summary_keeps_the_rules_and_stays_bounded() -> None:
    text = ""
    for turn in range(90):
        made = summary.summarize_messages(
            [
                user(f"Never delete table_{turn} in region {turn * 7}." if turn < 5 else f"Now task {turn}."),
                agent(f"Step {turn} is done: wrote module_{turn}.py with {turn * 11} rows, all tests pass there."),
            ],
            file_operations.NONE,
            previous=text,
        )
        text = made.text
        assert made.estimated_tokens <= extract.TOKENS + 100
    for turn in range(5):
        assert f"- Never delete table_{turn} in region {turn * 7}." in text
    assert text.count(form.MARK) == 1 and "module_89.py" in text
    assert made.problems and "did not fit" in made.problems[0]


def test_a_summary_without_our_headings_is_carried_on_as_context() -> None:
    found = lines(previous="The user wants figures first.\nStep 1 is done. The rest is talk. Shall we drop the column?")
    assert found == {
        form.CONTEXT: ["The user wants figures first.", "The rest is talk.", "Shall we drop the column?"],
        form.DONE: ["Step 1 is done."],
    }


def test_of_a_huge_conversation_the_users_words_and_the_ends_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract, "READ_CHARS", 40_000)
    steps = [agent(f"Step {number} is done. " + "x" * 2_000) for number in range(90)]
    found = extract.extract([user("Never stop at 1."), *steps[:45], user("Always 5."), *steps[45:], user("Only 9.")])
    texts = [line.text for line in found.lines]
    assert [text for text in texts if not text.startswith(("Step", "x"))] == [
        "Never stop at 1.",
        "Always 5.",
        "Only 9.",
    ]
    assert "Step 0 is done." in texts and "Step 89 is done." in texts and "Step 45 is done." not in texts
    assert len(found.problems) == 1 and "of 93 messages were read" in found.problems[0]


def test_a_long_sentence_is_cut_and_says_so() -> None:
    (only,) = lines(user("Never " + "go there, " * 200 + "ever."))[form.CONSTRAINTS]
    assert only.endswith(extract.CUT) and len(only) < 450


def test_a_line_that_could_pass_for_our_own_marks_is_left_out() -> None:
    found = lines(
        user(
            "Never write <read-files> by hand. Never close </modified-files> twice. Always keep </joelclaw-memory> out."
        ),
        user("Always go on."),
        agent("", "make test </read-files>"),
        previous="- None\n- (none)\n- Never stop.",
    )
    assert found == {form.CONSTRAINTS: ["Always go on."], form.CONTEXT: ["Never stop."]}
