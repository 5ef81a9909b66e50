"""`python tests/affected.py [SINCE]`: the test files that what has changed since a commit can break, one a line.

A changed test file; a test file that imports a changed module, itself or through others; and one whose name shares a
word with a changed module's, since most tests reach a module through the command only. A fixture's file, or one that
is not Python (data, completions, this repository's settings), counts as every test: nothing is left out silently.
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


def reached(path: Path) -> set[Path]:
    """Every file of ours that a test file imports, through others too; not through what all share."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        for one in imported(waiting.pop()) - seen:
            seen.add(one)
            if one.stem not in SHARED:
                waiting.append(one)
    return seen


def words(path: Path) -> set[str]:
    """What a file's name is about."""
    parts = [*path.parent.parts[-1:], *path.stem.split("_")]
    return {part[:_ALIKE] for part in parts if part not in NO_WORDS}


def main() -> None:
    """Print them."""
    since = sys.argv[1] if len(sys.argv) > 1 else "main"
    tests = sorted((ROOT / "tests").glob("test_*.py"))
    paths = [path for path in changed(since) if path.suffix not in (".md", ".json") and path.parts[0] not in ("bench",)]
    code = {ROOT / path for path in paths if path.suffix == ".py" and (ROOT / path).is_file()}
    if any(ROOT / path not in code or path.stem in SHARED for path in paths):
        print("\n".join(str(test.relative_to(ROOT)) for test in tests))
        return
    about = [words(path.relative_to(ROOT)) for path in code if path.relative_to(ROOT).parts[0] in ROOMS]
    for test in tests:
        name = words(Path(test.name))
        if test in code or reached(test) & code or any(name & topic for topic in about):
            print(test.relative_to(ROOT))


if __name__ == "__main__":
    main()
