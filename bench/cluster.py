"""Recall over a large memory on a Typesense node, beside the local file; and what it takes to fill both.

    python bench/cluster.py [--sizes 10000,100000,1000000] [--runs 21] [--json OUT]

A node of the test's kind is started on loopback in a temporary folder (some 5 GB of memory and disk for a million
notes). Each size is imported into a home of its own and moved by `store push`; then both answer the same queries,
alternating with bare Python (see speed.py). `--budget lean`, as hooks ask; with more patience than a hook has, so that
what is timed is the cluster's answer and not the local file's behind it. `first` is the slowest of the queries
when each is asked once.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from notes import QUERIES
from speed import ENVIRONMENT, JOELCLAW, fill, measure

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from typesense_server import Server, missing, one_node

PATIENT = {"JOELCLAW_STORE_TIMEOUT_MS": "60000"}


def command(words: list[str], environment: dict[str, str]) -> tuple[Any, float]:
    """The result of a `joelclaw` command, and the seconds it took."""
    began = time.perf_counter()
    done = subprocess.run([JOELCLAW, *words], capture_output=True, env=environment, check=False)
    took = time.perf_counter() - began
    envelope = json.loads(done.stdout)
    if not envelope["ok"]:
        raise SystemExit(f"{' '.join(words)}: {envelope['error']}")
    return envelope["result"], took


def server_memory_mb(server: Server) -> float:
    """What the node's process holds in memory."""
    assert server.process is not None
    with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as about:
        return int(about.read().split()[1]) * resource.getpagesize() / 1e6


def recalls(size: int, cluster: dict[str, str], runs: int) -> dict[str, Any]:
    """Time the local file and the cluster; and how long the cluster takes at first."""
    local = {**cluster, "JOELCLAW_STORE_BACKEND": "sqlite"}
    first = []
    for query in QUERIES:
        answered, took = command(["recall", query, "--budget", "lean"], cluster)
        assert answered["backend"] == "typesense", answered["fallback"]
        first.append(took * 1000)
    words = [[JOELCLAW, "recall", query, "--budget", "lean"] for query in QUERIES]
    return {
        "first_ms": [round(took, 1) for took in first],
        "sqlite": measure(f"recall lean, {size:,} notes, sqlite", words, local, runs),
        "typesense": measure(f"recall lean, {size:,} notes, typesense", words, cluster, runs),
    }


def one(size: int, folder: Path, runs: int) -> dict[str, Any]:
    """Fill both with `size` notes, and time both."""
    home = folder / f"home-{size}"
    with one_node(folder / f"node-{size}") as server:
        cluster = {**ENVIRONMENT, **server.environment(), **PATIENT, "JOELCLAW_HOME": str(home)}
        local = {**cluster, "JOELCLAW_STORE_BACKEND": "sqlite"}
        import_s = fill(home, size)
        command(["store", "init"], local)
        pushed, push_s = command(["store", "push"], local)
        (home / "cache").mkdir(exist_ok=True)
        due = home / "cache" / "store-push.due"
        due.touch()
        os.utime(due, (time.time() + 3000, time.time() + 3000))  # no run in the background beside the clock
        times = recalls(size, cluster, runs)
        again, compare_s = command(["store", "push"], local)
        verified, verify_s = command(["store", "verify"], local)
        assert verified["same"], verified
        return {
            "size": size,
            "import_s": round(import_s, 1),
            "push_s": round(push_s, 1),
            "pushed": pushed["sent"]["documents"],
            "push_again_s": round(compare_s, 1),
            "pushed_again": again["sent"]["documents"],
            "verify_s": round(verify_s, 1),
            "server_mb": round(server_memory_mb(server)),
            "recall": times,
        }


def main() -> int:
    """Measure every size, print the table, and with --json keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if missing():
        raise SystemExit(missing())
    rows = []
    names = f"{'bare':>7}{'sqlite':>9}{'typesense':>11}{'first':>8}{'push s':>9}{'verify s':>10}{'server MB':>11}"
    print(f"{'notes':>10}{names}")
    for size in (int(text) for text in options.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            row = one(size, Path(folder), options.runs)
        rows.append(row)
        local, remote = row["recall"]["sqlite"], row["recall"]["typesense"]
        print(
            f"{size:>10,}{local['bare_ms']:7.1f}{local['ms']:9.1f}{remote['ms']:11.1f}"
            f"{max(row['recall']['first_ms']):8.0f}{row['push_s']:9.1f}{row['verify_s']:10.1f}{row['server_mb']:11,}",
            flush=True,
        )
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        machine = {"python": platform.python_version(), "cores": os.cpu_count(), "system": platform.platform()}
        options.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
