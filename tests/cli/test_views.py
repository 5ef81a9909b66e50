"""Each command has a view on a terminal that shows its result without JSON."""

from pathlib import Path

import pytest
from conftest import Run
from terminal import on_terminal, without_style

from cli.terminal import print_items, records

FAIL_LOUDLY = {"JOELCLAW_DEBUG": "1"}  # otherwise a view that fails prints JSON


@pytest.fixture
def used_home(home: Path, run: Run, tmp_path: Path) -> Path:
    """A home with a memory and events."""
    run("memory", "write", "the staging queue drains at noon")
    run("otel", "emit", "queue.failed", "--level", "error", "--error", "bad\nworse")
    (tmp_path / ".claude").mkdir()
    return home


@pytest.mark.parametrize(("words", "expected"), [
    ("status", ["Everything works", "schema", "observations", "queue.failed"]),
    ("doctor --client claude", ["claude", "not installed", "store", "claude: claude is here", "NOT_INSTALLED"]),
    ("install pi --yes", ["pi user changed", "joelclaw.ts"]),
    ("install codex --yes", ["/hooks.json /", "joelclaw.rules /", "the next time Codex starts start"]),
    ("install --list", ["opencode user", "joelclaw.js", "claude user agent found"]),
    ("uninstall pi --yes", ["pi user"]),
    ("off --everywhere", ["Everything is off: hooks do not inject", "off yes", "resume"]),
    ("on --everywhere", ["scope everywhere"]),
    ("exclude .", ["excluded yes", "archive it again"]),
    ("otel list", ["queue.failed", "bad worse", "1 of 1"]),
    ("otel list --level fatal", ["No event matches"]),
    ("otel stats", ["errors"]),
    ('otel emit a.b --metadata {"n":1}', ["a.b", "n 1"]),
    (
        "recall staging",
        ["written system-architecture the staging queue drains at noon", "top 1 of 1 → joelclaw recall show 1"],
    ),
    ("memory recent", ["system-architecture", "the staging queue drains at noon"]),
    ("memory purge --dry-run --match stag", ["Would be deleted permanently:", "memories 1"]),
    ("exclude --list", ["No folder is excluded."]),
    ("idle schedule --session s", ["scheduled no", "reason off"]),
    ("recall zebra", ["No results for 'zebra'."]),
    ("memory list", ["staging queue drains at noon", "found 1"]),
    ("memory search staging", ["staging queue drains at noon"]),
    ("memory stats", ["observations", "total"]),
    ("session list", ["count 0"]),
    ("store prune --dry-run", ["dry run yes"]),
    ("backup b.tar", ["b.tar"]),
])  # fmt: skip
def test_a_view_shows_the_result(used_home: Path, tmp_path: Path, words: str, expected: list[str]) -> None:
    environment = {**FAIL_LOUDLY, "HOME": str(tmp_path), "XDG_DATA_HOME": "", "BASH_COMPLETION_USER_DIR": ""}
    shown = on_terminal(used_home, *words.split(), env=environment, cwd=tmp_path, columns=200)
    text = without_style(shown.out)
    assert shown.err == "" and not text.startswith("{")
    for part in expected:
        assert part in " ".join(text.split()), text


def test_a_text_that_begins_another_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    whole = "the staging queue drains at noon, and fills again before the evening"
    row = {"id": "m1", "title": f"{whole[:49]}…", "description": whole, "snippet": whole, "file": whole[:49]}
    print_items(records([row]))
    assert [row.strip() for row in capsys.readouterr().out.splitlines()] == ["m1", whole, whole[:49]]


def test_only_a_list_of_long_texts_takes_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    tags, texts = ["deploy-tuesdays", "harbour-freeze", "release-train"], ["the queue " * 5 + "drains", "at noon"]
    print_items(records([{"id": "m1", "tags": tags, "texts": texts}]))
    assert [row.strip() for row in capsys.readouterr().out.splitlines()] == ["m1", ", ".join(tags), *texts]
