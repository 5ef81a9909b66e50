"""Stories that a scripted model tells, rendered for each client's tool names, wire format and token limits.

A turn is a list of replies with neutral tool calls: (text, None), (text, "write", path, content), (text, "edit", path,
old, new) or (text, "bash", command). With the call of NOISE, the reported usage crosses the client's limit,
so that the client compacts by itself. The summariser's reply is vague on purpose: each story's "facts" are lost unless
something else brings them back, and nothing from that turn on repeats one. A fact is (kind, speaker, text).
All projects are invented.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

NOISE = "seq -f 'case %.0f ok' 1 900"  # a long, uninformative test log (gemini refuses $() in commands)

WEBHOOK_RETRIES: dict[str, Any] = {
    "prompts": [
        "In parcelbox, webhooks are sometimes delivered twice. Fix it in src/delivery/worker.py. I prefer plain "
        "functions over classes, and never add a dependency without asking me. There are 5 sub-tasks in "
        "docs/plan-0417.md; do them in order.",
        "Good. Go on with the next sub-tasks. The whole suite is `make check-delivery SEED=8841`; not yet, please.",
        "Now run the suite.",
        "Carry on with what is left. Before you start: what is done, what is blocked, and what did we rule out?",
    ],
    "turns": [
        [
            (
                "I start with the worker.",
                "write",
                "src/delivery/worker.py",
                "LEASE_SECONDS = 30\n\n\ndef claim(queue, now):\n    return queue.take(lease=LEASE_SECONDS)\n",
            ),
            ("Looking at the timings in the queue log.", "bash", "echo 'lease=30s handler_p99=41.7s duplicates=212'"),
            (
                "Insight: the duplicates are not a race in the sender. The handler's p99 is 41.7 s while the lease is "
                "30 s, so the lease expires under a live worker and a second worker claims the same row. Decision: "
                "renew the lease every 10 s from the worker instead of raising it to 120 s, because a long lease would "
                "delay recovery after a crash to two minutes.",
                "edit",
                "src/delivery/worker.py",
                "LEASE_SECONDS = 30",
                "LEASE_SECONDS = 30\nRENEW_EVERY = 10",
            ),
            ("Sub-tasks 1 and 2 are done.", None),
        ],
        [
            (
                "Failed approach, do not retry: a unique index on (webhook_id, attempt) deadlocks with the archiver "
                "job under load, so I dropped migration 0093_unique_attempt.sql.",
                "bash",
                "echo 'deadlock detected: archiver vs delivery (12 of 40 runs)'",
            ),
            (
                "Checkpoint: 3 of 5 sub-tasks done. Sub-task 4 is blocked on the staging credential for the "
                "courier-sandbox account, which the user has to issue; sub-task 5 (dashboards/delivery.json) can go "
                "first.",
                "bash",
                "ls",
            ),
            ("That is as far as it goes today.", None),
        ],
        [("Running the suite.", "bash", NOISE), ("The run is over and nothing new came up.", None)],
        [
            ("Looking at the folder first.", "bash", "ls -R . | head -20"),
            ("I can see the files, but I only have the summary for the rest.", None),
        ],
    ],
    "facts": [
        ("insight", "assistant", "handler's p99 is 41.7 s"),
        ("insight", "assistant", "lease expires under a live worker"),
        ("decision", "assistant", "renew the lease every 10 s"),
        ("reason", "assistant", "delay recovery after a crash"),
        ("failed", "assistant", "deadlocks with the archiver job"),
        ("path", "assistant", "0093_unique_attempt.sql"),
        ("checkpoint", "assistant", "3 of 5 sub-tasks done"),
        ("blocker", "assistant", "courier-sandbox account"),
        ("preference", "user", "plain functions over classes"),
        ("constraint", "user", "never add a dependency"),
        ("path", "user", "docs/plan-0417.md"),
        ("command", "user", "make check-delivery SEED=8841"),
        ("number", "tool", "duplicates=212"),
        ("number", "tool", "12 of 40 runs"),
    ],
}

REPORT_TIMEZONE: dict[str, Any] = {
    "prompts": [
        "Monthly reports in tidepool are one day off for some tenants. Find out why, starting at "
        "reports/window.py. Please answer briefly and always show me the failing test before the fix. Port 7432 "
        "is the test database, never use 5432.",
        "Yes, do that for all the report kinds. The check for later is `pytest tests/reports -k window -x "
        "--maxfail=2`.",
        "Now run all the tests.",
        "Continue. What is the state, and why did we not store offsets?",
    ],
    "turns": [
        [
            (
                "A failing test first.",
                "write",
                "tests/reports/test_window.py",
                "def test_window_edge():\n    start = '2031-03-01'\n    assert start == '2031-03-01'\n",
            ),
            ("Running it.", "bash", "echo 'FAILED tenant=atoll-19 expected 2031-03-01 got 2031-02-28'"),
            (
                "Insight: only tenants east of UTC+9 fail, because month_window truncates in UTC before converting. "
                "Decision: keep the tenant's zone name (Pacific/Kiritimati) and convert first; storing a fixed offset "
                "is ruled out because it is wrong for half of the year in zones with summer time.",
                "edit",
                "tests/reports/test_window.py",
                "def test_window_edge",
                "def test_window_edge_kiritimati",
            ),
            ("The cause is clear.", None),
        ],
        [
            (
                "Failed approach: setting TZ for the worker process fixes the report and breaks the scheduler, whose "
                "jobs then fire 14 hours early (incident RPT-2207).",
                "bash",
                "echo 'scheduler drift=-50400s'",
            ),
            (
                "Checkpoint: invoices, usage and churn are converted, 3 of 4 report kinds. payouts is blocked on "
                "the review of schema change tenants.zone_name by the data team.",
                "bash",
                "ls tests/reports",
            ),
            ("That is as far as it goes today.", None),
        ],
        [("Running the suite.", "bash", NOISE), ("The suite has finished.", None)],
        [
            ("Looking at the folder first.", "bash", "ls -R . | head -20"),
            ("I only have the summary for the rest.", None),
        ],
    ],
    "facts": [
        ("insight", "assistant", "truncates in UTC before converting"),
        ("insight", "assistant", "east of UTC+9"),
        ("decision", "assistant", "Pacific/Kiritimati"),
        ("reason", "assistant", "wrong for half of the year"),
        ("failed", "assistant", "jobs then fire 14 hours early"),
        ("number", "assistant", "RPT-2207"),
        ("checkpoint", "assistant", "3 of 4 report kinds"),
        ("blocker", "assistant", "tenants.zone_name"),
        ("preference", "user", "show me the failing test before the fix"),
        ("constraint", "user", "Port 7432"),
        ("path", "user", "reports/window.py"),
        ("command", "user", "-k window -x --maxfail=2"),
        ("number", "tool", "tenant=atoll-19"),
        ("number", "tool", "drift=-50400s"),
    ],
}

# Two compactions within a minute: the second must not bring a second note.
DOUBLE_COMPACTION: dict[str, Any] = {
    "prompts": [
        "In saltmarsh, sensor readings from the buoys are lost when the uplink drops. Please work in ingest/buffer.py, "
        "and keep every public function documented.",
        "Run the load test.",
        "Run it once more.",
        "What is the state?",
    ],
    "turns": [
        [
            (
                "I start with the buffer.",
                "write",
                "ingest/buffer.py",
                "LIMIT = 500\n\n\ndef put(queue, reading):\n    queue.append(reading)\n",
            ),
            (
                "Decision: spill the readings to disk past 500 instead of dropping the oldest, since a buoy sends each "
                "reading only once.",
                "edit",
                "ingest/buffer.py",
                "LIMIT = 500",
                "LIMIT = 500\nSPILL = True",
            ),
            ("The buffer spills now.", None),
        ],
        [("Running it.", "bash", NOISE), ("It is over.", None)],
        [("Once more.", "bash", NOISE), ("It is over again.", None)],
        [("I only have the summary.", None)],
    ],
    "facts": [
        ("decision", "assistant", "spill the readings to disk"),
        ("preference", "user", "keep every public function documented"),
    ],
}

# The same inside one turn, for clients that compact between the calls of a turn.
DOUBLE_IN_TURN: dict[str, Any] = {
    **DOUBLE_COMPACTION,
    "prompts": [DOUBLE_COMPACTION["prompts"][0], "Run the load test twice.", "What is the state?"],
    "turns": [
        DOUBLE_COMPACTION["turns"][0],
        [("Running it.", "bash", NOISE), ("Once more.", "bash", NOISE), ("It is over.", None)],
        [("I only have the summary.", None)],
    ],
}

# The shortest session with a write and a compaction: for clients that wait for hooks that hang.
ONE_EDIT: dict[str, Any] = {
    "prompts": ["In driftwood, write the port into config/port.txt.", "Run the checks.", "What is the state?"],
    "turns": [
        [("Here it is.", "write", "config/port.txt", "7432\n"), ("It is written.", None)],
        [("Now the checks.", "bash", NOISE), ("They are over.", None)],
        [("I only have the summary.", None)],
    ],
    "facts": [("path", "user", "config/port.txt")],
}

STORIES: dict[str, dict[str, Any]] = {
    "webhook-retries": WEBHOOK_RETRIES,
    "report-timezone": REPORT_TIMEZONE,
    "double-compaction": DOUBLE_COMPACTION,
    "double-in-turn": DOUBLE_IN_TURN,
    "one-edit": ONE_EDIT,
}

VAGUE = (
    "The user asked for several improvements to a service. Some files were changed, a few checks were run "
    "and things are broadly on track. Continue with the remaining work."
)
MARKDOWN = "## Goal\n" + VAGUE.replace(". ", ".\n\n## Progress\n", 1) + "\n"
TITLE = {
    "name": "title",
    "match": "title generator|generate a title|brief title|title that captures",
    "no_tools": True,
    "reply": {"text": "Work session", "usage": {"input": 100, "output": 5}},
}
FLUSH = {
    "name": "flush",
    "match": "Pre-compaction memory flush",
    "reply": {"text": "NO_REPLY", "usage": "auto"},
}
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Usage:
    """Input tokens that the replies report: first reply, increase per reply, at the limit, after a compaction."""

    start: int
    step: int
    crossing: int
    after: int


@dataclass(frozen=True)
class Client:
    """How a client calls its tools, when it compacts, and what marks a request of its summariser."""

    call: Callable[..., Call]
    limits: dict[str, Any]
    usage: Usage
    match: str
    summary: str
    summariser_has_tools: bool = False
    compacts_after_turns: bool = False
    slow: float = 0  # seconds that the reply after the limit takes
    rules: list[dict[str, Any]] = field(default_factory=list)


def pi(kind: str, *a: str) -> Call:
    """A tool call of pi."""
    if kind == "write":
        return "write", {"path": a[0], "content": a[1]}
    if kind == "edit":
        return "edit", {"path": a[0], "edits": [{"oldText": a[1], "newText": a[2]}]}
    return "bash", {"command": a[0]}


def openclaw(kind: str, *a: str) -> Call:
    """A tool call of OpenClaw."""
    name, args = pi(kind, *a)
    if name == "bash":
        return "exec", {**args, "workdir": "{{CWD}}"}
    return name, {**args, "path": "{{CWD}}/" + args["path"]}


def file_tools(shell: str, write: str, edit: str, fields: str, **more: str) -> Callable[..., Call]:
    """How a client calls its tools: their names, and the fields with path, old and new text; `more` are of an edit."""
    path, old, new = fields.split()

    def call(kind: str, *a: str) -> Call:
        if kind == "bash":
            return shell, {"command": a[0], "description": "run a command"}
        file = {path: "{{CWD}}/" + a[0]}
        return (write, {**file, "content": a[1]}) if kind == "write" else (edit, {**file, **more, old: a[1], new: a[2]})

    return call


opencode = file_tools("bash", "write", "edit", "filePath oldString newString")
claude = file_tools("Bash", "Write", "Edit", "file_path old_string new_string")
gemini = file_tools(
    "run_shell_command", "write_file", "replace", "file_path old_string new_string", instruction="change one line"
)
of_qwen = file_tools("run_shell_command", "write_file", "edit", "file_path old_string new_string")
of_copilot = file_tools("bash", "create", "edit", "path old_str new_str")


def qwen(kind: str, *a: str) -> Call:
    """A tool call of Qwen Code, which on a busy machine loses what a command prints at its end."""
    return of_qwen(kind, *((f"{a[0]}; sleep 1",) if kind == "bash" else a))


def written_by_shell(path: str, text: str) -> str:
    """A shell command that writes a file."""
    return f"mkdir -p {path.rpartition('/')[0]} && cat > {path} <<'EOF'\n{text}EOF"


def copilot(kind: str, *a: str) -> Call:
    """A tool call of Copilot CLI, which writes files with its shell."""
    return of_copilot("bash", written_by_shell(*a)) if kind == "write" else of_copilot(kind, *a)


def codex(kind: str, *a: str) -> Call:
    """A tool call of Codex, which only has a shell."""
    if kind == "write":
        command = written_by_shell(*a)
    elif kind == "edit":
        command = f"sed -i 's|{a[1]}|{a[2]}|' {a[0]}".replace("\n", "\\n")
    else:
        command = a[0]
    return "exec_command", {"cmd": command}


CLIENTS = {
    "pi": Client(
        call=pi,
        limits={"contextWindow": 8000, "reserveTokens": 2000, "keepRecentTokens": 300},
        usage=Usage(1500, 450, 6600, 1800),
        match="You are a context summarization assistant",
        summary=MARKDOWN,
    ),
    "openclaw": Client(
        call=openclaw,
        limits={"contextWindow": 64000, "keepRecentTokens": 300},
        usage=Usage(12000, 500, 52000, 13000),
        match="You are a context summarization assistant",
        summary=MARKDOWN,
        rules=[FLUSH],
        compacts_after_turns=True,
    ),
    "opencode": Client(
        call=opencode,
        limits={"contextWindow": 30000, "output": 2000},
        usage=Usage(9000, 1500, 29500, 4000),
        match="You are a context summarization agent",
        summary=MARKDOWN,
        rules=[TITLE],
    ),
    "claude": Client(
        call=claude,
        limits={"autoCompactWindow": 100000},
        usage=Usage(15000, 4000, 185000, 9000),
        match="Tool calls will be rejected and you will fail the task",
        summary=f"<analysis>brief</analysis>\n<summary>{VAGUE}</summary>",
        summariser_has_tools=True,
        rules=[TITLE],
    ),
    "codex": Client(
        call=codex,
        limits={"contextWindow": 20000, "autoCompactAt": 8000},
        usage=Usage(3000, 300, 15000, 2500),
        match="CONTEXT CHECKPOINT COMPACTION",
        summary=VAGUE,
    ),
    "gemini": Client(  # it splits at a user prompt only, and keeps about the newest third of the text
        call=gemini,
        limits={"compressionThreshold": 0.02},  # of 1,048,576 tokens
        usage=Usage(9000, 500, 30000, 9000),
        match="distilling chat history into a structured XML",
        summary=f"<state_snapshot>{VAGUE}</state_snapshot>",
    ),
    "qwen": Client(  # inside a turn, chance says whether the last result is kept when the session is resumed
        call=qwen,
        limits={"contextWindow": 100_000},
        usage=Usage(20_000, 500, 72_000, 21_000),
        match="First, reason in your <analysis> block|You are the component that summarizes",
        summary=f"<analysis>brief</analysis>\n<state_snapshot>{VAGUE}</state_snapshot>",
        summariser_has_tools=True,
        compacts_after_turns=True,
    ),
    "copilot": Client(  # it asks for the summary while the next request runs
        call=copilot,
        limits={"contextWindow": 64_000, "output": 4000},
        usage=Usage(20_000, 500, 54_000, 21_000),
        match="Please create a detailed summary of the conversation so far",
        summary=f"<overview>{VAGUE}</overview>\n<history>brief</history>",
        summariser_has_tools=True,
        slow=2,
        rules=[TITLE],
    ),
}


def steps(story: dict[str, Any], client: Client, *, by_hand: bool = False) -> list[dict[str, Any]]:
    """The model's replies, in order; if the client is to compact by hand, none crosses its limit."""
    replies, used, is_after_noise = [], client.usage.start, False
    for turn in story["turns"]:
        for text, kind, *words in turn:
            is_at_limit = is_after_noise if client.compacts_after_turns else NOISE in words
            if is_at_limit and not by_hand:
                used = client.usage.crossing
            reply: dict[str, Any] = {"text": text, "usage": {"input": used, "output": 60}}
            if kind:
                name, args = client.call(kind, *words)
                reply["tool_calls"] = [{"name": name, "args": args}]
            replies.append(reply)
            if NOISE in words and client.slow:
                name, args = client.call("bash", "echo 'still running'")
                more = [{"name": name, "args": args}]
                replies.append({**reply, "text": "It goes on.", "delay": client.slow, "tool_calls": more})
            if client.compacts_after_turns and is_at_limit:  # the newest tokens are kept: let them be filler
                reply["pad"] = 1200
            used = client.usage.after if is_at_limit else used + client.usage.step
            is_after_noise = NOISE in words
    return replies


def script(story_name: str, client_name: str, *, by_hand: bool = False) -> dict[str, Any]:
    """A story as a script for the mock model (the format is in mock_llm.py); `by_hand`: with the prompt `/compact`."""
    story, client = STORIES[story_name], CLIENTS[client_name]
    reply = {"text": client.summary, "usage": {"input": 900, "output": 60}}
    rule: dict[str, Any] = {"name": "compact", "match": client.match, "reply": reply}
    if not client.summariser_has_tools:
        rule["no_tools"] = True
    return {
        "client": client.limits,
        "prompts": [*story["prompts"][:-1], "/compact", story["prompts"][-1]] if by_hand else story["prompts"],
        "facts": [{"kind": kind, "said_by": who, "needle": needle} for kind, who, needle in story["facts"]],
        "rules": [rule, *client.rules],
        "steps": steps(story, client, by_hand=by_hand),
        "default": {"text": "There is nothing more to do.", "usage": {"input": client.usage.after, "output": 20}},
    }
