"""`python tests/affected.py [SINCE]`: the test files that what has changed since a commit can break, the nearest first.

A changed test file; one whose name shares a word with a changed module's, since most tests reach a module through the
command only; one that imports a changed module; then those that import it through others, by how many. A fixture's
file, or one that is not Python (data, completions, this repository's settings), counts for every test: nothing is left
out silently. `make check` stops after `--budget` seconds and tells what it left out (`conftest`).
"""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("cli", "clients", "core", "memory", "otel", "recall", "session")
SHARED = {"conftest", "faults", "in_process"}
_ALIKE = 6
"""How many first letters make two words the same: refresh and refreshing."""
NO_WORDS = {"test", "cli", "core", "store", "session", "commands", "views", "init", "record", "text", "state"}


def changed(since: str) -> list[Path]:
    """What differs from the commit at which `since` and we parted, and what git does not know yet."""
    found: set[str] = set()
    base = _git("merge-base", since, "HEAD")[0]
    for words in (("diff", "--name-only", base), ("ls-files", "--others", "--exclude-standard")):
        found.update(_git(*words))
    return sorted(Path(name) for name in found)


def _git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


@cache
def imported(path: Path) -> frozenset[Path]:
    """The files of ours that a file imports, those of a function's body too."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        for name in names:
            place = name.replace(".", "/")
            for candidate in (f"{place}.py", f"{place}/__init__.py", f"tests/{place}.py"):
                if (ROOT / candidate).is_file():
                    found.add(ROOT / candidate)
    return frozenset(found)


def reached(path: Path) -> dict[Path, int]:
    """Every file of ours that a test file imports, by how many steps; not through what all share."""
    found: dict[Path, int] = {}
    waiting, steps = {path}, 0
    while waiting:
        steps += 1
        new = {one for name in waiting for one in imported(name)} - found.keys()
        found.update(dict.fromkeys(new, steps))
        waiting = {one for one in new if one.stem not in SHARED}
    return found


def words(path: Path) -> set[str]:
    """What a file's name is about."""
    parts = [*path.parent.parts[-1:], *(path.stem.split("_") if path.stem != "__init__" else ())]
    return {part[:_ALIKE] for part in parts if part not in NO_WORDS}


def main() -> None:
    """Print them."""
    since = sys.argv[1] if len(sys.argv) > 1 else "main"
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    paths = [path for path in changed(since) if path.suffix not in (".md", ".json") and path.parts[0] not in ("bench",)]
    code = {ROOT / path for path in paths if path.suffix == ".py" and (ROOT / path).is_file()}
    every = any(ROOT / path not in code or path.stem in SHARED for path in paths)
    about = [words(path.relative_to(ROOT)) for path in code if path.relative_to(ROOT).parts[0] in ROOMS]
    near: list[tuple[int, str]] = []
    for test in tests:
        name = words(Path(test.name))
        steps = [0] if test in code else [step for one, step in reached(test).items() if one in code]
        steps += [0 for topic in about if name & topic]
        if steps or every:
            near.append((min(steps, default=99), str(test.relative_to(ROOT))))
    print("\n".join(test for _, test in sorted(near)))


if __name__ == "__main__":
    main()
