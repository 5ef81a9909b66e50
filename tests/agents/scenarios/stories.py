"""What the scenarios tell, with neutral tool calls: (text, None), (text, "write", path, content),
(text, "edit", path, old, new) or (text, "bash", command). All projects are invented.

In a turn listed under "crossing" the reported usage crosses the client's limit, so that the client compacts by itself.
The summariser's reply (build.py) is vague on purpose: each story's "facts" are lost unless something else brings them
back, and nothing from the crossing turn on repeats one. A fact is (kind, said by, text that stands in it).
"""

from __future__ import annotations

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
    "crossing": (2,),
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
        [
            ("Running the suite.", "bash", NOISE),
            ("The run is over and nothing new came up.", None),
        ],
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
    "crossing": (2,),
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
        [
            ("Running the suite.", "bash", NOISE),
            ("The suite has finished.", None),
        ],
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

# Two compactions within a minute: the second one must not bring a second signpost.
DOUBLE_COMPACTION: dict[str, Any] = {
    "prompts": [
        "In saltmarsh, sensor readings from the buoys are lost when the uplink drops. Please work in ingest/buffer.py, "
        "and keep every public function documented.",
        "Run the load test.",
        "Run it once more.",
        "What is the state?",
    ],
    "crossing": (1, 2),
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

# As short as a session with a write and a compaction can be: for the runs in which each hook is waited for.
ONE_EDIT: dict[str, Any] = {
    "prompts": ["In driftwood, write the port into config/port.txt.", "Run the checks.", "What is the state?"],
    "crossing": (1,),
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
    "one-edit": ONE_EDIT,
}
