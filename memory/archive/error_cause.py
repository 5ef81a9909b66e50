"""The line of an output that says why a call failed, with its place and its test. Imported only for failures.

Each line gets a score: a place with a message says most, then a line that begins like an error, then any line with a
word for errors. A line that only reports that something failed (`exit status 1`) is the last choice. If the output
names a failed test, only the part about it is searched.
"""

import re
from itertools import takewhile

from core.names import is_file
from core.quoting import clip, clip_ends
from memory.archive.texts import is_error_line

ERROR_CHARS = 240  # of the line that is stored
NEAR_LINES = 12  # around an error, in which its place or its values are named
# What a task runner or a frame puts in front of each line: `[lint:go] `, `@acme/core test: `, `│ `.
TASK_PREFIX = re.compile(r"^(?:\[[\w:.@/ -]+\] |│ |[@\w/][\w/.-]* \w[\w:.-]*: )")
PLACE = re.compile(r"(?P<file>(?:[A-Za-z]:)?[^\s:()\"'`…]+\.\w{1,6})[:(\[]{1,2}\d+(?:[:,]\d+)?[)\]]?(?=[:\s)]|$)")
POINTER = re.compile(r"\s*(?:(?:-->|└─|╭─\[|❯) ?|at(?: \S+)*? \(?)([^\s()]+\.\w+:\d+(?::\d+)?)|(\S+\.py:\d+): \w+$")
SOURCE_LINE = re.compile(r"(?:> {0,8})?\d{0,7} {0,8}(?:\d{0,7} )?[|│┃→]")
DEPENDENCY = re.compile(
    r"node_modules|(site|dist)-packages|/lib/python\d|<frozen|<string>|/pkg/mod/|/go/\d|/\.cargo/|node:"
)
FAILED_TEST = re.compile(
    r"\s*(?:--- FAIL: (?P<go>\S+)|● (?P<jest>.+)|FAIL\s+\S+\.\w+ > (?P<vitest>.+)|\(fail\) (?P<bun>.+?)(?: \[.+\])?$"
    r"|✖ (?P<node>.+) \([\d.]+ms\)$)"
)
GO_MESSAGE = re.compile(r"\s+(?:[\w.-]+_test\.go|assertions\.go):\d+: ?")
ERROR_BEGINS = re.compile(
    r"(?:\S+: )?(?:[\w.]*(?:Error|Exception)\b[^:]{0,40}:|(?:panic|fatal|error(?:\[\w+\])?|fehler):? |E  |✖|× |\*\* \("
    r"|\S*make(?:\[\d+\])?: \*\*\* |CONFLICT \(|! \[|expect\(|\^ this|thread '.*panicked at)"
    r"|(?:(?:\S*/)?(?:ba|da|k|z)?sh(?::\d+)?|\S+: (?:line|Zeile|ligne) \d+): (?!warning)",  # of a shell
    re.IGNORECASE,
)
# Lines that say that something failed, but not why.
HEADER = re.compile(
    r"^</?\w+>|^\s*(?:FAIL|ok|PASS|#|\?)(?:\s|$)|^\s*(?:={3}|---|✓|\(pass\)|[>$] |hint:|Traceback )"
    r"|\[(?:build|setup) failed\]|\btask failed|\*\*\* \[|\bbuild fail(?:ed|ure)(?! *:)|aborted!$|^\s*\[\w+\]$"
    r"|ELIFECYCLE|exit(?:ed)?(?: with)? (?:status|code)|error: (?:script |command .* failed$|could not apply)"
    r"|^npm (?:err!|error)\s*(?:code|path|workspace|location|command|errno|syscall|lifecycle|signal|a complete|$)"
    r"|^\s*(?:\S+ )?found \d+ |^\W*\d+ (?:issues?|errors?|problems?|failed|failing|pass)|test suites?:|tests?:\s+\d"
    r"|some errors were emitted|husky - |ERR_PNPM_RECURSIVE|pre-commit script|automatic merge failed|could not compile",
    re.IGNORECASE,
)
# The reports of test runners in an output of a call that succeeded; those that name a test come first.
VERDICTS = (
    re.compile(r"--- FAIL: \S|FAILED \S+\.py\b|\(fail\) \S|FAIL\s+\S+\.\w|FAIL\t\S"),
    re.compile(
        r"test result: FAILED|=+ .*\b[1-9]\d* failed\b.* =+$|[1-9]\d* failed\b.* in [\d.]+s"
        r"|Tests:?\s+.*\b[1-9]\d* failed\b|\[[\w:.-]+\] ERROR task failed$"
    ),
)


def error_line(output: str) -> str:
    """Why a call failed, on one line: with the test, or with file and line, if the output names them."""
    lines = _lines_of(output)
    of_call = re.compile(  # what the client or a program says about the call itself
        r"(?:command timed out|exec_command failed|apply_patch verification failed)"
        r"|[\w./-]+: (?:[^:]+: )*(?:No such file or directory|Permission denied|unrecognized"
        r"|Datei oder Verzeichnis nicht gefunden|Keine Berechtigung)",
        re.IGNORECASE,
    )
    if found := next(filter(of_call.match, (*lines[:3], *lines[-2:])), ""):
        return _cut(found)
    test, part = _failed_test(lines)
    lines = part or lines
    if not lines:
        return ""
    scores = [_score(line) for line in lines]
    # a failed test of Go has its logs before what failed it
    at = len(scores) - 1 - scores[::-1].index(max(scores)) if max(scores) > 4 else scores.index(max(scores))
    return _cut(f"{clip(test, 60)}: " * bool(test) + _place_of(lines, at) + _whole(lines, at))


def verdict_line(output: str) -> str:
    """The failure that a test runner or a Go build reports in the output of a call that itself succeeded, such as a
    pipe: its place, or the line that says so; "" if nothing failed."""
    lines = _lines_of(output)
    for verdict in VERDICTS:
        if found := next((line.strip() for line in lines if verdict.match(line.strip())), ""):
            error = error_line(output)
            return error if PLACE.search(error) else _cut(found)
    build = re.search(r"(?m)^# [\w.-]+(?:/[\w.-]+)*(?: \[.+\])?\n(\S+:\d+:.*)$", output)
    return _cut(build[1]) if build and PLACE.match(build[1]) else ""


def _lines_of(output: str) -> list[str]:
    """The lines that are not blank, without colours; of very many the first and the last."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output)
    lines = [line.rstrip()[:4000] for line in text.splitlines() if line.strip()]
    return lines if len(lines) <= 4000 else lines[:2000] + lines[-2000:]


def _failed_test(lines: list[str]) -> tuple[str, list[str]]:
    """The first failed test, its innermost part, and the lines about it: those below its name, or those above."""
    marks = [(at, found) for at, line in enumerate(lines) if (found := FAILED_TEST.match(TASK_PREFIX.sub("", line)))]
    for number, (at, found) in enumerate(marks[:20]):
        name = next(filter(None, found.groups()))
        after = marks[number + 1] if number + 1 < len(marks) else (len(lines), None)
        if after[1] and str(after[1]["go"]).startswith(f"{name}/"):
            continue
        running = [n for n, line in enumerate(lines[:at]) if line.startswith("=== ") and line.endswith(f" {name}")]
        begin = running[-1] if running else marks[number - 1][0] if number else -1
        above = list(takewhile(lambda line: not line.startswith("=== "), lines[begin + 1 : at]))
        above = above if running or found["bun"] else []
        below = lines[at + 1 : after[0]]
        for part in (above, below) if found["bun"] else (below, above):
            if part and max(map(_score, part)) > (4 if found["go"] else 2):
                return name.replace(" › ", " > ").rpartition(" > ")[2], part
    return "", []


def _score(line: str) -> int:
    """How much a line says about the cause: 5 a message of a Go test, 4 a place with a message, 3 it begins like an
    error, 2 it has a word for errors or names a package, 1 it is a plain line, 0 it is indented or reports progress,
    -1 a header or a line of source code."""
    bare = TASK_PREFIX.sub("", line)
    if POINTER.match(bare):
        return 1
    if GO_MESSAGE.match(line):
        return 5
    if line.startswith("FAIL\t"):
        return 2
    if HEADER.search(bare) or SOURCE_LINE.match(bare.lstrip()):
        return -1
    place = PLACE.match(bare)
    if place and is_file(place["file"]) and not DEPENDENCY.search(bare):
        text = bare[place.end() :]
        is_other = re.match(r"[: ]*(?:#|\+0x|in |\W*warn|note|info\b|remark|debug)", text, re.IGNORECASE)
        return 4 if text.strip(" :-") and not is_other and not text.endswith("━") else 1
    if re.match(r"\s+\d+:\d+\s+error\s", bare):  # eslint
        return 4
    if ERROR_BEGINS.match(bare.lstrip()):
        return 3
    return 2 if is_error_line(line) else 0 if re.match(r"\s|\W*$|.*(?:\.\.\.|…)$", line) else 1


def _place_of(lines: list[str], at: int) -> str:
    """The place that the lines around an error name for it; "" if it names a place itself."""
    if PLACE.search(lines[at], 0, 400):
        return ""
    if re.match(r"\s+\d+:\d+\s", lines[at]):  # eslint
        return next((f"{above}:" for above in lines[at::-1] if is_file(above)), "")
    above, below = lines[max(0, at - NEAR_LINES) : at][::-1], lines[at + 1 : at + 1 + NEAR_LINES]
    for line in below:
        if (found := POINTER.match(line)) and not DEPENDENCY.search(line):
            return f"{found[1] or found[2]}: "
    frames = (re.match(r'\s+File "(.+)", line (\d+)', line) for line in above if not DEPENDENCY.search(line))
    if frame := next(filter(None, frames), None):
        return f"{frame[1]}:{frame[2]}: "
    heading = above[0].removeprefix("at ") if above and above[0].endswith("━") else ""  # biome
    return f"{heading.partition(' ')[0]}: " if heading else ""


def _whole(lines: list[str], at: int) -> str:
    """An error with the lines in which it goes on, or the values that a test compared."""
    near = lines[at + 1 : at + NEAR_LINES]
    bare = TASK_PREFIX.sub("", lines[at])
    whole = (bare if PLACE.match(bare) else lines[at].removeprefix("E  ")).strip(" \t×✖^│")
    if GO_MESSAGE.match(lines[at]):
        depth = len(lines[at]) - len(lines[at].lstrip())
        end = next((n for n, line in enumerate(near) if len(line) - len(line.lstrip()) <= depth), len(near))
        whole = re.sub(r"Error Trace:\s*\S+|\b(?:Error|Messages):|Test:\s*\S+", "", " ".join([whole, *near[:end]]))
    elif whole.endswith(":") and near and not SOURCE_LINE.match(near[0].lstrip()):
        whole = f"{whole} {near[0].strip()}"
    values = [line.strip() for line in near if re.match(r"\s*(?:Expected|Received)\b.*:", line)]
    causes = re.findall(r"(?m)^\s*Caused by:\s*(\S.*)", "\n".join(near))
    return ", ".join([whole, *values[:2], *causes[:1]])


def _cut(line: str) -> str:
    """A line in the room that is stored, cut around what it says: its place, or the message in a JSON object."""
    line = " ".join(line.split())
    if len(line) <= ERROR_CHARS:
        return line
    if message := re.search(r'"(?:message|error|detail|reason|error_description)"\s*:\s*"([^"]{4,})"', line):
        line = line[max(0, min(message.start(), message.end(1) + 1 - ERROR_CHARS)) :]
        return line if len(line) <= ERROR_CHARS else line[: ERROR_CHARS - 1] + "…"
    return (clip if PLACE.search(line, 0, ERROR_CHARS * 3 // 4) else clip_ends)(line, ERROR_CHARS)
