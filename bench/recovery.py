"""What a compaction lost and the agent then needed: real sessions, replayed through the real hook command.

    python bench/recovery.py --from ~/.claude/projects [--jobs 2] [--json OUT]
    python bench/recovery.py --from FILE.jsonl --show

Nothing of it reads the model's mind: what is handed out is held against what the agent did next. The same compactions
are given to what joelclaw is compared with: the client's summary alone, a plain ranked list, and deja-vu where a `deja`
command is on PATH. docs/figures.md has the figures. Each session has a home of its own in a temporary
folder; the transcripts are only read, and neither the user's memory nor the clients' settings are touched.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import recovery_baselines as baselines
from recovery_replay import PRINTED, Replay, Stopped
from recovery_score import Score, ask_by_name, sample, score
from recovery_session import NoTranscript, Session, identifiers

JOELCLAW = Path(sys.executable).parent / "joelclaw"
OURS, SUMMARY, LIST, PEER = "joelclaw", "summary alone", "plain list, 700 + 6,000", "deja-vu"
_MOMENTS = ("start", "prompt", "tool")
_SUFFIXES = (".jsonl", ".jsonl.xz")


@dataclass
class Result:
    """What one session gave: a row for each compaction, and counts of the session as a whole."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    """What `--show` prints."""


def measure(path: Path, command: Path, stop: threading.Event, *, show: bool) -> Result:
    """Replay one session in a home of its own, and score every compaction of it that can be measured.

    Raises:
        Stopped: the run was interrupted.
    """
    session, found = Session(path), Result()
    chance = random.Random(session.id)
    with tempfile.TemporaryDirectory(prefix="recovery-bench-", ignore_cleanup_errors=True) as folder:
        replay = Replay(session, command, Path(folder) / "home", stop)

        def after(compaction: int, text: str) -> None:
            needed = session.needed(compaction)
            answers = [replay.answer(printed) for printed in PRINTED.findall(text)]
            names = sample(chance, needed.names)
            ours = score(session, compaction, needed, text, "\n".join(answer for _, answer in answers))
            ours.queries, ours.queries_run = len(answers), sum(runs for runs, _ in answers)
            ours.answer_chars = sum(len(answer) for _, answer in answers)
            systems = {
                OURS: ours + ask_by_name(names, replay.recall),
                SUMMARY: baselines.summary_alone(session, compaction, needed),
                LIST: baselines.plain_list(session, compaction, needed),
            }
            peer = baselines.deja(session, compaction, needed, names, Path(folder) / f"deja-{compaction}")
            if peer is not None:
                systems[PEER] = peer
            known = baselines.known_and_used_next(session, compaction)
            row = {"session": session.id, "file": session.path.name, "client": session.client, "at": compaction}
            row["used_next_known"] = len(known)
            found.rows.append({**row, "systems": {name: one.as_dict() for name, one in systems.items()}})
            if show:
                found.shown.append(f"--- {session.path.name}, moment {compaction}\n{text}\n")
                found.shown.append(f"needed: {sorted(needed.names)} {sorted(needed.commands)} {sorted(needed.files)}\n")

        replay.go(after)
        replay.rest()
        counts = {"hooks": replay.hooks, "late": replay.late, "faults": len(replay.faults)}
        for moment in _MOMENTS:
            texts = [one for one in replay.injections if one.kind == moment]
            shown = [(identifiers(one.text), session.used_next(one.place)) for one in texts]
            counts[f"{moment}_texts"] = len(texts)
            counts[f"{moment}_chars"] = sum(len(one.text) for one in texts)
            counts[f"{moment}_shown"] = sum(len(names) for names, _ in shown)
            counts[f"{moment}_used"] = sum(len(names & used) for names, used in shown)
        found.counts, found.faults = counts, replay.faults
    return found


def files_in(places: list[Path], split: str) -> list[Path]:
    """The transcripts in files and folders, sorted; of a split every second one: even is the first, third, fifth …"""
    found: set[Path] = set()
    for place in places:
        if not place.exists():
            fail(2, f"there is no {place}", "name transcripts (.jsonl, .jsonl.xz) or folders that hold some")
        found |= {place} if place.is_file() else {path for path in place.rglob("*") if path.name.endswith(_SUFFIXES)}
    files = sorted(found)
    return files[1::2] if split == "odd" else files[::2] if split == "even" else files


def read(path: Path) -> Session | None:
    """A session; None for a file that is none, of which stderr is told."""
    try:
        return Session(path)
    except (NoTranscript, OSError) as error:
        tell(f"left out: {error}")
        return None


def tell(line: str) -> None:
    """A line of progress."""
    print(line, file=sys.stderr, flush=True)


def fail(status: int, message: str, fix: str) -> NoReturn:
    """End with a clear message."""
    tell(f"recovery-bench: {message}\nfix: {fix}")
    sys.exit(status)


def share(part: int, whole: int) -> str:
    """`.123 (12 of 98)`, or a dash."""
    return f"{part / whole:.3f} ({part} of {whole})" if whole else "-"


def totals(rows: list[dict[str, Any]]) -> dict[str, Score]:
    """By system: the scores of all compactions added up."""
    names = [name for name in (OURS, SUMMARY, LIST, PEER) if name in rows[0]["systems"]]
    return {name: sum((Score(**row["systems"][name]) for row in rows), Score()) for name in names}


def tables(rows: list[dict[str, Any]], counts: dict[str, int]) -> str:
    """All that was measured, as text."""
    out = [f"{len(rows)} compactions of {len({row['session'] for row in rows})} sessions", ""]
    total = totals(rows)
    names = list(total)
    out.append(f"{'':26}" + "".join(f"{name:>27}" for name in names))

    def line(label: str, cells: dict[str, str]) -> None:
        out.append(f"{label:26}" + "".join(f"{cells.get(name, '-'):>27}" for name in names))

    held = [
        name for name in names if name != SUMMARY
    ]  # the summary holds none of what is needed: that is the definition
    for kind in ("names", "commands", "files"):
        for way, title in (("view", "in view"), ("away", "with its own queries")):
            label = f"{kind} {title}" if way == "view" else f"  {title}"
            cells = {n: share(getattr(total[n], f"{kind}_{way}"), getattr(total[n], f"{kind}_needed")) for n in held}
            line(label, cells)
    line("found by name", {n: share(total[n].found, total[n].asked) for n in names})
    line("  characters an answer", {n: f"{total[n].found_chars / total[n].asked:.0f}" for n in names if total[n].asked})
    line("used next of shown", {n: share(total[n].shown_used, total[n].shown) for n in names})
    each = {name: [row["systems"][name]["chars"] for row in rows] for name in names}
    line("characters, median", {n: f"{statistics.median(each[n]):.0f}" for n in names})
    line("characters, most", {n: str(max(each[n])) for n in names})
    known, in_summary = sum(row["used_next_known"] for row in rows), total[SUMMARY].shown_used
    ours = total[OURS]
    out += [
        "",
        f"used in the next 40 calls and known before: {known} identifiers, {in_summary} of them in the summary"
        f" ({in_summary / max(1, known):.3f}), {ours.names_needed} looked up again",
        f"queries printed {ours.queries}, run as printed {ours.queries_run}, {ours.answer_chars} characters of answers",
        *(
            f"at {label}: {counts[f'{label}_texts']} texts, {counts[f'{label}_chars']} characters, used next of shown"
            f" {share(counts[f'{label}_used'], counts[f'{label}_shown'])}"
            for label in _MOMENTS
        ),
        "{hooks} hooks, {late} over 2 s, {faults} faults".format(**counts),
    ]
    if PEER not in names:
        out.append("no `deja` on PATH: the peer is left out")
    return "\n".join(out)


def each_alone(paths: list[Path], options: argparse.Namespace, stop: threading.Event) -> dict[str, Any]:
    """Every session in a home of its own, `--jobs` at a time."""
    results: dict[Path, Result] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        try:
            waiting = {pool.submit(measure, path, options.command, stop, show=options.show): path for path in paths}
            for done in as_completed(waiting):
                path = waiting[done]
                result = results[path] = done.result()
                for text in result.shown:
                    print(text, flush=True)
                for fault in result.faults:
                    tell(f"fault: {path.name}: {fault}")
                tell(f"{len(results)}/{len(paths)} {path.name}: {len(result.rows)} compactions")
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    rows = [row for path in sorted(results) for row in results[path].rows]
    counts: dict[str, int] = {}
    for result in results.values():
        for name, value in result.counts.items():
            counts[name] = counts.get(name, 0) + value
    print(tables(rows, counts))
    total = {
        name: sum((Score(**row["systems"][name]) for row in rows), Score()).as_dict() for name in rows[0]["systems"]
    }
    return {"systems": total, "counts": counts, "rows": rows}


def arguments() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="places", nargs="+", type=Path, required=True, metavar="PATH",
                        help="transcripts (.jsonl, .jsonl.xz) or folders of them: ~/.claude/projects")  # fmt: skip
    parser.add_argument("--sessions", type=int, default=0, metavar="N", help="the first N that can be measured")
    parser.add_argument(
        "--split", choices=("odd", "even"), help="every second file: tune on one half, report the other"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="sessions at a time")
    parser.add_argument("--show", action="store_true", help="print every text that was handed out")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep all figures, a row for each compaction")
    parser.add_argument("--command", type=Path, default=JOELCLAW, help="the joelclaw to measure")
    options = parser.parse_args()
    if options.jobs < 1 or options.sessions < 0:
        parser.error("--jobs is 1 or more, --sessions 0 or more")
    options.places = [place.expanduser() for place in options.places]
    command = shutil.which(options.command)
    if command is None:
        fail(2, f"{options.command} cannot be run", "run it in this project's environment (`make`), or give --command")
    options.command = Path(command).absolute()
    return options


def chosen(options: argparse.Namespace) -> list[Path]:
    """The sessions that are to be replayed: those with a compaction that can be measured."""
    files = files_in(options.places, options.split)
    paths: list[Path] = []
    sessions = compactions = 0
    for path in files:
        if options.sessions and len(paths) == options.sessions:
            break
        session = read(path)  # not kept: all of them at once would fill the memory
        if session is None:
            continue
        sessions += 1
        compactions += len(session.compactions)
        if session.measurable:
            paths.append(path)
    if not paths:
        fail(
            1,
            f"no compaction can be measured in {len(files)} files ({sessions} sessions, {compactions} compactions)",
            "give sessions that were compacted and went on for 30 tool calls, e.g. --from ~/.claude/projects",
        )
    return paths


def main() -> int:
    """Replay, print the tables, and with --json keep them."""
    os.umask(0o077)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = arguments()
    stop = threading.Event()
    try:
        paths = chosen(options)
        figures = each_alone(paths, options, stop)
    except (KeyboardInterrupt, Stopped):
        stop.set()
        tell("interrupted: nothing was kept")
        return 130
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
