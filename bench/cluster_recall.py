"""Recall from a Typesense cluster beside recall from the local file: quality, agreement, speed.

    python bench/cluster_recall.py --data FILE [--budget lean] [--json OUT]      quality on LoCoMo (see bench/locomo.py)
    python bench/cluster_recall.py --speed 10000[,1000000] [--runs 21] [--json OUT]

A real server is started on free loopback ports (tests/typesense_server.py). Each conversation, or each number of notes,
is imported into a throwaway home, moved with `joelclaw store push`, and asked through the installed command with either
backend. Quality is the share of a question's evidence in the first k hits; the overlap is how many of the local file's
first 10 hits the cluster returns among its own. Speed is whole processes beside bare Python, as in bench/speed.py, and
what the import of the official client costs, and that of ours.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from locomo import CUTS, observation_lines, shares, turn_lines
from notes import QUERIES
from speed import ENVIRONMENT, JOELCLAW, PYTHON, fill, measure

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from typesense_server import Server, missing, one_node

Found = list[list[tuple[str, float]]]  # per question the hits' ids and scores
PATIENCE = {"JOELCLAW_STORE_TIMEOUT_MS": "30000"}  # what is measured is quality, or how long it takes


def call(words: list[str], environment: dict[str, str], given: str = "") -> str:
    """What a command prints; ends the run where it fails."""
    done = subprocess.run([JOELCLAW, *words], input=given, text=True, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"joelclaw {' '.join(words)}: {done.stdout or done.stderr}")
    return done.stdout


def push(home: Path, server: Server, prefix: str) -> tuple[dict[str, str], float]:
    """Move a home's memory to the server; the environment that reads it there, and the seconds it took."""
    local = {**ENVIRONMENT, "JOELCLAW_HOME": str(home)}
    cluster = {**local, **server.environment(**PATIENCE), "JOELCLAW_STORE_PREFIX": prefix}
    call(["store", "init"], cluster)
    began = time.perf_counter()
    call(["store", "push"], cluster)
    return cluster, time.perf_counter() - began


def ask(environment: dict[str, str], questions: list[str], collection: str, budget: str) -> Found:
    """Ids and scores of the hits for each question."""
    words = ["recall", "--batch", "-", "--budget", budget, "--limit", str(max(CUTS)), "--collection", collection]
    out = call(words, environment, "\n".join(" ".join(question.split()) for question in questions))
    found = []
    for line in out.splitlines():
        result = json.loads(line)["result"]
        if "fallback" in result:
            raise SystemExit(f"the cluster did not answer: {result['fallback']['reason']}")
        found.append([(hit["id"], hit["score"]) for hit in result["hits"]])
    return found


def agreement(local: Found, cluster: Found) -> dict[str, Any]:
    """How far the answers are the same: shared hits, equal first hits, how far the scores of shared hits lie apart."""
    shared = total = first = 0
    apart = 0.0
    for one, other in zip(local, cluster, strict=True):
        scores = dict(other)
        total += len(one)
        shared += sum(identifier in scores for identifier, _ in one)
        first += bool(one and other and one[0][0] == other[0][0])
        apart = max([apart, *(abs(score - scores[identifier]) for identifier, score in one if identifier in scores)])
    return {
        "overlap@10": round(shared / max(total, 1), 4),
        "same first hit": round(first / max(len(local), 1), 4),
        "largest difference of a score": round(apart, 4),
    }


def quality(data: list[dict[str, Any]], budget: str, server: Server) -> dict[str, Any]:
    """Task → backend → share at each cut, and the agreement of both."""
    table: dict[str, Any] = {}
    for task, make, collection in (
        ("turns", turn_lines, "episodes"),
        ("observations", observation_lines, "observations"),
    ):
        totals: dict[str, dict[int, list[float]]] = {name: {cut: [] for cut in CUTS} for name in ("local", "cluster")}
        answers: dict[str, Found] = {"local": [], "cluster": []}
        for number, sample in enumerate(data):
            lines = make(sample)
            stands_for = (
                {line["id"]: {line["id"]} for line in lines}
                if task == "turns"
                else {f"o{i}": set(o["evidence"]) for i, o in enumerate(sample["observations"])}
            )
            known = {turn["id"] for turn in sample["turns"]}
            reachable = set().union(*stands_for.values())
            asked = [(q["question"], set(q["evidence"]) & known) for q in sample["qa"]]
            asked = [(question, wanted) for question, wanted in asked if wanted & reachable]
            questions = [question for question, _ in asked]
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:  # a background sync may still write
                local = {**ENVIRONMENT, "JOELCLAW_HOME": home}
                call(["memory", "import", "-"], local, "\n".join(json.dumps(line) for line in lines))
                cluster, _ = push(Path(home), server, f"{task}{number}_")
                for name, environment in (("local", local), ("cluster", cluster)):
                    hits = ask(environment, questions, collection, budget)
                    answers[name] += hits
                    ids = [[identifier for identifier, _ in one] for one in hits]
                    for cut, values in shares(ids, [wanted for _, wanted in asked], stands_for).items():
                        totals[name][cut].extend(values)
        table[task] = {
            name: {"questions": len(cuts[1]), **{f"R@{cut}": round(sum(v) / len(v), 4) for cut, v in cuts.items()}}
            for name, cuts in totals.items()
        } | {"agreement": agreement(answers["local"], answers["cluster"])}
    return table


def speed(sizes: list[int], runs: int, server: Server) -> list[dict[str, Any]]:
    """Whole processes with either backend, and what the client's import costs."""
    rows = [
        measure("import typesense", [[PYTHON, "-c", "import typesense"]], ENVIRONMENT, runs),
        measure(
            "import of the search client",
            [[PYTHON, "-c", "import core.store.cluster.client"]],
            {**ENVIRONMENT, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)},
            runs,
        ),
    ]
    recalls = [[JOELCLAW, "recall", query, "--budget", "lean"] for query in QUERIES]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for size in sizes:
            home = Path(folder) / str(size)
            fill(home, size)
            cluster, took = push(home, server, f"n{size}_")
            local = {**ENVIRONMENT, "JOELCLAW_HOME": str(home)}
            down = {**cluster, "TYPESENSE_URL": "http://127.0.0.1:9"}
            rows.append(measure(f"recall, {size:,} notes, local file", recalls, local, runs))
            row = measure(f"recall, {size:,} notes, cluster", recalls, cluster, runs)
            rows.append({**row, "push_s": round(took, 1)})
            rows.append(measure(f"recall, {size:,} notes, cluster down", recalls, down, runs))
    return rows


def main() -> int:
    """Measure what was asked for, print it, and with --json keep it. Exit 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--budget", default="lean", choices=("lean", "balanced", "deep"))
    parser.add_argument("--speed", default="")
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if missing():
        raise SystemExit(missing())
    result: dict[str, Any] = {}
    good = True
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, one_node(Path(folder)) as server:
        if options.data:
            result["quality"] = table = quality(json.loads(options.data.read_text()), options.budget, server)
            for task, systems in table.items():
                for name in ("local", "cluster"):
                    row = systems[name]
                    figures = "".join(f"  R@{cut} {row[f'R@{cut}']:.3f}" for cut in CUTS)
                    print(f"{task:14}{name:10}{row['questions']:>6}{figures}")
                print(f"{task:14}{systems['agreement']}")
                good = good and systems["cluster"]["R@10"] >= systems["local"]["R@10"] - 0.02
        if options.speed:
            result["speed"] = rows = speed([int(size) for size in options.speed.split(",")], options.runs, server)
            for row in rows:
                pushed = f"  push {row['push_s']} s" if "push_s" in row else ""
                print(f"{row['name']:42}{row['ms']:9.1f} ms{row['bare_ms']:8.1f}{row['ratio']:7.2f}{pushed}")
                good = good and (row["name"] != "recall, 10,000 notes, cluster" or row["ratio"] <= 370 / 11)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"cores": os.cpu_count(), **result}, indent=2) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
