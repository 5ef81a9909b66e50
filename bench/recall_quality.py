"""Recall quality (`make recall-bench`), measured with the installed command in throwaway homes.

    python bench/recall_quality.py [DATA.json ...] [--sessions FOLDER ...] [--budget lean] [--command PATH] [--json OUT]

DATA is a dict of dated sessions and questions (`one_home.py`), or a list of conversations (`locomo.py`); --sessions are
transcripts of real coding sessions, also `.jsonl.xz` (`code_questions.py`). No model judges: each answer
is known.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent))

import code_questions
import locomo
import one_home
from throwaway_home import Home

JOELCLAW = str(Path(sys.executable).parent / "joelclaw")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """The tables that the options ask for."""
    figures: dict[str, Any] = {"command": options.command, "budget": options.budget}
    for path in options.data:
        data = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(data, dict):
            figures["sessions"] = one_home.measure(data, options.command, options.budget)
            show_halves(figures["sessions"])
        else:
            figures["conversations"] = locomo.measure(data, options.command, options.budget)
            for task, systems in figures["conversations"].items():
                show(f"one conversation a home, {task}, without dates", systems)
    if options.sessions:
        sessions = code_questions.read(options.sessions)
        with Home(options.command, options.budget) as home:
            code_questions.archive(home, sessions)
            figures["code"] = code_questions.measure(sessions, home)
        for kind, systems in figures["code"].items():
            show(f"{len(sessions)} coding sessions in one home, {kind}", systems)
    return figures


def show_halves(table: dict[str, Any]) -> None:
    """Print the tables of dated sessions, half by half."""
    print(f"{table['sessions']} sessions, {table['turns']} turns")
    for half in (one_home.TUNED, one_home.UNTUNED):
        print(f"{half}: {', '.join(name for name, of in table['halves'].items() if of == half)}")
    for place in ("one home", "one conversation a home"):
        for half in (one_home.TUNED, one_home.UNTUNED, "all"):
            rows = {system: halves[half] for system, halves in table.get(place, {}).items() if half in halves}
            if rows:
                show(f"{place}, {half}", rows)
        if place == "one home":
            show("one home, questions that nothing answers", {"joelclaw": table["unanswered"]})


def show(title: str, rows: dict[str, dict[str, float]]) -> None:
    """Print a table; a column is left out of the rows that have none."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    print(f"\n{title}\n{'':42}" + "".join(f"{name:>10}" for name in columns))
    for name, row in rows.items():
        print(f"{name:42}" + "".join(_cell(one, row) for one in columns), flush=True)


def _cell(column: str, row: dict[str, float]) -> str:
    if column not in row:
        return " " * 10
    return f"{row[column]:10}" if column == "questions" else f"{row[column]:10.3f}"


def main() -> int:
    """Measure, print the tables, and with --json keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", type=Path, metavar="DATA")
    parser.add_argument("--sessions", nargs="+", type=Path, default=[], metavar="FOLDER")
    parser.add_argument("--budget", default="lean", choices=("lean", "balanced", "deep"))
    parser.add_argument("--command", default=JOELCLAW)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = measure(options)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
