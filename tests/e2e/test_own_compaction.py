"""pi's own compactions: a second one is cancelled, and the summary can be ours."""

import json
from pathlib import Path
from typing import Any

import pytest

from .session import Workplace, requests_of

pytestmark = [pytest.mark.agents("pi"), pytest.mark.usefixtures("agent")]

OURS = '[compaction]\nsummary = "joelclaw"\n'
COMMANDS = """
export default (pi) => {
  const done = (start) => new Promise((resolve) => start({onComplete: resolve, onError: resolve}));
  pi.registerCommand("shrink", {handler: (focus, ctx) =>
    done((more) => ctx.compact({...(focus ? {customInstructions: focus} : {}), ...more}))});
  pi.registerCommand("leave", {handler: async (_given, ctx) => {
    const branch = ctx.sessionManager.getBranch();
    const target = branch.find((one) => one.type === "message" && one.message.role === "assistant");
    await ctx.navigateTree(target.id, {summarize: true});
  }});
  pi.on("session_compact", () =>
    pi.sendMessage({customType: "cache", content: "The cache is warm. ".repeat(40), display: false}));
};
"""
"""What `/compact` and `/tree` do, and an extension's text after which pi would compact what it has just kept."""
FACT = "Decision: the gauge of Husum is read in UTC because its clock never changes"
KEPT = "Now write the report of the week, and mention the harbour of Tromsø"
MODELS = "THE MODEL OF THE CLIENT WROTE THIS"
USAGE = {"input": 900, "output": 20}


class Played(Workplace):
    """A session of pi that was played."""

    def __init__(self, folder: Path, *prompts: str, settings: str = "", hooks: bool = True) -> None:
        super().__init__("pi", folder)
        (self.memory / "config.toml").write_text(settings)
        if hooks:
            self.install()
            self.allow_slow_hooks()
        rule = {"name": "compact", "match": "context summarization assistant", "no_tools": True}
        script = {
            "client": {"contextWindow": 100_000, "reserveTokens": 2000, "keepRecentTokens": 100},
            "prompts": list(prompts),
            "rules": [{**rule, "reply": {"text": f"## Goal\n{MODELS}", "usage": USAGE}}],
            "steps": [
                {"text": f"{FACT}. I note it.", "usage": USAGE},
                {"text": "The report stands. " * 20, "usage": USAGE},
            ],
            "default": {"text": "Done.", "usage": USAGE},
        }
        (folder / "commands.ts").write_text(COMMANDS)
        self.requests = requests_of(self.play(script, extensions=[folder / "commands.ts"]))
        (transcript,) = (folder / "out" / "transcripts").glob("*.jsonl")
        self.entries = [json.loads(line) for line in transcript.read_text().splitlines()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The transcript's entries of a kind."""
        return [entry for entry in self.entries if entry["type"] == kind]

    def asked_for_summaries(self) -> int:
        """How often pi asked its own model for a summary."""
        return sum(request.rule == "compact" for request in self.requests)


TALK = ("Which clock does the gauge of Husum have?", KEPT)


@pytest.mark.parametrize("focus", ["", " the harbours"])
def test_a_second_compaction_with_nothing_between_is_cancelled(tmp_path: Path, focus: str) -> None:
    played = Played(tmp_path, *TALK, "/shrink", f"/shrink{focus}", "And now?")
    assert len(played.of("compaction")) == 1
    assert played.asked_for_summaries() == 1
    assert [event["metadata"]["reason"] for event in played.events("compaction.cancelled")] == [
        "nothing-since-compaction"
    ]
    assert played.requests[-1].texts.count(KEPT) == 1, "what the first compaction kept is still there"


def test_without_the_guard_the_model_is_asked_again(tmp_path: Path) -> None:
    """The control of the test above."""
    played = Played(tmp_path, *TALK, "/shrink", "/shrink", "And now?", hooks=False)
    assert len(played.of("compaction")) == 2
    assert played.asked_for_summaries() == 2


def test_on_request_the_summary_is_ours(tmp_path: Path) -> None:
    played = Played(tmp_path, *TALK, "/shrink", "And now?", settings=OURS)
    (compaction,) = played.of("compaction")
    assert played.asked_for_summaries() == 0
    assert compaction["fromHook"] is True and compaction["details"]["by"] == "joelclaw"
    assert TALK[0] in compaction["summary"] and "## Key Decisions" in compaction["summary"]
    (first_kept,) = [entry for entry in played.entries if entry.get("id") == compaction["firstKeptEntryId"]]
    assert first_kept["message"]["role"] == "user" and KEPT in json.dumps(first_kept, ensure_ascii=False)
    last = played.requests[-1]
    assert last.count(compaction["summary"]) == 1
    assert [last.texts.count(words) for words in TALK] == [0, 1], "as a message of its own"
    assert not played.events("compaction.summary.failed")


def test_the_entry_is_kept_that_pi_itself_would_keep(tmp_path: Path) -> None:
    """Without a setting of ours, the tokens are those of pi's `settings.json`."""
    first_kept = []
    for name, settings in (("ours", OURS), ("its", "")):
        (tmp_path / name).mkdir()
        played = Played(tmp_path / name, *TALK, "/shrink", settings=settings)
        (compaction,) = played.of("compaction")
        ids = [entry["id"] for entry in played.of("message")]
        first_kept.append((ids.index(compaction["firstKeptEntryId"]), compaction["tokensBefore"]))
    assert first_kept[0] == first_kept[1]


def test_a_focus_without_a_model_of_ours_is_pis_own(tmp_path: Path) -> None:
    played = Played(tmp_path, *TALK, "/shrink the harbours", settings=OURS)
    (compaction,) = played.of("compaction")
    assert MODELS in compaction["summary"] and played.asked_for_summaries() == 1


@pytest.mark.parametrize("ours", [True, False])
def test_the_summary_of_a_branch_that_is_left(tmp_path: Path, ours: bool) -> None:
    played = Played(tmp_path, *TALK, "/leave", "And now?", settings=OURS if ours else "")
    (branch,) = played.of("branch_summary")
    assert branch.get("fromHook", False) is ours
    assert (KEPT in branch["summary"], MODELS in branch["summary"]) == (ours, not ours)
    assert (played.asked_for_summaries() == 0) is ours
    assert played.requests[-1].count(branch["summary"]) == 1
