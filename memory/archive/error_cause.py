"""The line of a failed call's output that says why it failed. Imported only if a call failed.

Each tool has its own form: a compiler names file and line, a test runner the test and what it got, Python the error
after its frames. What a runner says about a runner (`task failed`, `exit status 1`) is used only if there is nothing
else.
"""

import re
from itertools import pairwise

from core.names import is_file
from core.quoting import clip, clip_ends
from memory.archive.texts import is_error_line

ERROR_CHARS = 240  # of the line that is stored
MAX_LINES = 4_000  # read of an output: half of them from its end
MAX_LINE_CHARS = 4_000
NEAR_LINES = 12  # after an error, in which its place or its values follow
TEST_CHARS = 40  # of a test's name
GO_MESSAGE = re.compile(r"^\s+([\w.-]+\.go:\d+: ?.*)$")
# What a task runner puts in front of each line: `[lint:go] `, `@acme/core test: `.
TASK_PREFIX = re.compile(r"^(?:\[[\w:.@/ -]+\] |[@\w/.-]+ \w[\w:.-]*: )")
PLACE = re.compile(r"(?P<file>(?:[A-Za-z]:)?[^\s:()\"'`…]+\.\w{1,6})(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))(?=[:\s)]|$)")
SOURCE_LINE = re.compile(r"^\s*(?:>\s*)?\d*\s*(?:[|│┃→]|\d+ [|│┃])")
DEPENDENCY = re.compile(
    r"node_modules|site-packages|dist-packages|/lib/python\d|<frozen|<string>|/pkg/mod/|/go/\d|/\.cargo/|node:"
)
# Lines that say that something failed, but not why.
HEADER = re.compile(
    r"^</?\w+>|^\s*(?:FAIL|ok|PASS|#|\?)(?:\s|$)|^\s*(?:={3}|---|✓|\(pass\)|[>$] |hint:|Traceback )"
    r"|\[(?:build|setup) failed\]|\btask failed|make(?:\[\d+\])?: \*\*\*|ERR_PNPM_RECURSIVE|ELIFECYCLE"
    r"|exit(?:ed)?(?: with)? (?:status|code)|\bwith exit code|error: script |error: command .* failed$"
    r"|^npm (?:err!|error)\s*(?:code|path|workspace|location|command|errno|lifecycle|signal|a complete|$)"
    r"|^\s*(?:\S+ )?found \d+ |^\W*\d+ (?:issues?|errors?|problems?|failed|failing|pass)|test suites?:|tests?:\s+\d"
    r"|some errors were emitted|husky - |pre-commit script|run with (?:--verbose|`?RUST)|automatic merge failed"
    r"|error: could not apply|no fixes applied|could not compile|aborting due to|too many errors",
    re.IGNORECASE,
)


def error_line(output: str) -> str:
    """Why a call failed, on one line: with file and line or with the test, if the output names them."""
    text = _without_colours(output)
    # half a line follows what the client left out
    text = re.sub(r"(?m)^\.\.\. \[\d+ characters truncated\] \.\.\.$\s*|…\d+ (?:tokens|chars) truncated…", "…", text)
    lines = [_shortened(line.rstrip()) for line in text.splitlines() if line.strip()]
    if len(lines) > MAX_LINES:
        lines = lines[: MAX_LINES // 2] + lines[-MAX_LINES // 2 :]
    for line in (*lines[:2], *lines[-2:]):  # what the client says about the call
        if line.lower().startswith(("command timed out", "exec_command failed", "apply_patch verification failed")):
            return _cut(line)
    for line in lines[:3]:  # what a program says about its arguments
        if re.match(r"[\w./-]+: (?:[^:]+: )?(?:No such file or directory|Permission denied|unrecognized)", line):
            return _cut(line)
    tests = (_pytest_error, _compiler_errors, _go_test_error, _js_test_error)
    for find in (_conflict, _python_error, *tests, _marked_line):
        if found := find(lines):
            return _cut(found)
    package = next((line for line in lines if line.startswith("FAIL\t")), "")
    plain = (line for line in lines if not _is_header(line))
    return _cut(package or next(plain, lines[0] if lines else ""))


def verdict_line(output: str) -> str:
    """The failure that a test runner or a Go build reports in the output of a call that itself succeeded, such as a
    pipe: its place, or the line that says so; "" if nothing failed."""
    signs = (  # what names a test comes first
        r"--- FAIL: \S", r"FAILED \S+\.py\b", r"\(fail\) \S", r"FAIL\s+\S+\.\w", r"test result: FAILED", r"FAIL\t\S",
        r"=+ .*\b[1-9]\d* failed\b.* =+$", r"[1-9]\d* failed\b.* in [\d.]+s", r"Tests:?\s+.*\b[1-9]\d* failed\b",
        r"\[[\w:.-]+\] ERROR task failed$",
    )  # fmt: skip
    whole = [line.rstrip()[:MAX_LINE_CHARS] for line in _without_colours(output).splitlines() if line.strip()]
    lines = [line.strip() for line in whole]
    for sign in signs:
        if found := next(filter(re.compile(sign).match, lines), ""):
            return _cut(next(filter(PLACE.search, (_compiler_errors(whole), _go_test_error(whole))), found))
    package = re.compile(r"# [\w.-]+(?:/[\w.-]+)*(?: \[.+\])?$")
    return _cut(next((below for line, below in pairwise(lines) if package.match(line) and PLACE.match(below)), ""))


def _compiler_errors(lines: list[str]) -> str:
    """The first errors of compilers and linters, up to three: `a.go:3:1: undefined: x`, `a.ts(3,1): error …`, an error
    above its place, a row of eslint under the name of its file."""
    # after a place: a package, a frame, a warning
    no_error = re.compile(r"\+0x|in |\W*warn|note|info\b|remark|debug", re.IGNORECASE)
    heading = re.compile(r"\s*(?:error(?:\[\w+\])?:|\*\* \(|error )")
    pointer = re.compile(r"^\s*(?:-->|└─|╭─\[|at) ?(\S+\.\w+:\d+(?::\d+)?)")
    eslint = re.compile(r"\s+(\d+:\d+)\s+error\s+(.*)")
    found: list[str] = []
    for at, line in enumerate(lines):
        bare = TASK_PREFIX.sub("", line)
        if SOURCE_LINE.match(bare) or GO_MESSAGE.match(line) or DEPENDENCY.search(bare):
            continue
        near = lines[at + 1 : at + NEAR_LINES]
        place, error = PLACE.match(bare), ""
        if place and is_file(place["file"]):
            text = re.match(r"(?::| -)?\s+(\S.*)$", bare[place.end() :])
            error = bare.strip() if text and not HEADER.search(text[1]) and not no_error.match(text[1]) else ""
        elif heading.match(bare) and not HEADER.search(bare):
            below = next(filter(None, map(pointer.match, _indented(near))), None)
            error = f"{below[1]}: {bare.strip()}" if below else ""
        elif near and is_file(bare) and (row := eslint.match(near[0])):
            error = f"{bare}:{row[1]}: {row[2]}"
        if found and (len(found) == 3 or len(" · ".join([*found, error])) > ERROR_CHARS):
            break
        found += [error] * bool(error)
    return " · ".join(found)


def _go_test_error(lines: list[str]) -> str:
    """The first failed test of `go test`, its innermost part, and the last message of it."""
    messages: dict[str, list[str]] = {}
    failed: list[str] = []
    test = ""
    for line in lines:
        if begins := re.match(r"^=== (?:RUN|CONT|NAME|PAUSE)\s+(\S+)", line):
            test = begins[1]
        elif ends := re.match(r"^\s*--- FAIL: (\S+)", line):
            test = ends[1]
            failed.append(test)
        elif line.startswith("panic: ") and failed:
            return f"{failed[-1]}: {line.partition(' [recovered')[0]}"
        elif message := GO_MESSAGE.match(line):
            messages.setdefault(test, []).append(message[1].strip())
        elif messages.get(test) and (testify := re.match(r"\s+Error:\s+(.*)", line)):
            messages[test][-1] += f" {testify[1]}"
    for name in sorted(failed, key=lambda name: (not messages.get(name), -name.count("/"))):
        own = messages.get(name, [])
        # what failed a test is its last message; its logs before come from other files
        telling = [message for message in own if "_test.go:" in message] or own
        return f"{clip(name, TEST_CHARS)}: {telling[-1]}" if telling else f"--- FAIL: {name}"
    return ""


def _js_test_error(lines: list[str]) -> str:
    """The first failed test of jest or vitest, with its error."""
    raised = re.compile(r"\s*(?:[\w.]*Error\b.*?:|error:|expect\()")
    for at, line in enumerate(lines):
        if test := re.match(r"^\s*(?:● (.+)|FAIL\s+\S+\.\w+ > (.+))$", TASK_PREFIX.sub("", line)):
            name = (test[1] or test[2]).replace(" › ", " > ").rpartition(" > ")[2]
            error = next(filter(raised.match, lines[at + 1 : at + NEAR_LINES]), "")
            return f"{clip(name, TEST_CHARS * 2)}: {error.strip()}" if error else name
    return ""


def _conflict(lines: list[str]) -> str:
    """A merge conflict of git."""
    return next((line.strip() for line in lines if re.match(r"\s*CONFLICT \(", line)), "")


def _python_error(lines: list[str]) -> str:
    """The error after the last traceback, with the innermost frame that is no dependency."""
    begins = [at for at, line in enumerate(lines) if line.lstrip().startswith("Traceback (most recent")]
    if not begins:
        return ""
    place, at = "", begins[-1]
    depth = len(lines[at]) - len(lines[at].lstrip())
    for line in lines[at + 1 :]:
        if frame := re.match(r'\s+File "(.+)", line (\d+)', line):
            place = f"{frame[1]}:{frame[2]}: " if not DEPENDENCY.search(frame[1]) else place
        elif len(line) - len(line.lstrip()) <= depth:
            return place + line.strip()
    return ""


def _pytest_error(lines: list[str]) -> str:
    """The first `E` line of pytest and the place below it."""
    for at, line in enumerate(lines):
        if line.startswith("E  "):
            places = (PLACE.match(below) for below in lines[at + 1 :])
            place = next((found[0] + ": " for found in places if found and found["file"].endswith(".py")), "")
            return place + line[1:].strip()
    return ""


def _marked_line(lines: list[str]) -> str:
    """The first line that begins like an error, else the first with a word for errors; no headers."""
    begin = re.compile(
        r"^\s*(?:\S+: )?(?:[\w.]*(?:Error|Exception)\b[^:]{0,40}|panic|fatal|error(?:\[\w+\])?|✖|× "
        r"|thread '.*panicked at.*):?\s",
        re.IGNORECASE,
    )
    telling = [line for line in lines if not _is_header(line) and not SOURCE_LINE.match(line)]
    begins = (line for line in telling if begin.match(line) and is_error_line(line))
    line = next(begins, "") or next(filter(is_error_line, telling), "")
    if line.endswith(":") and line != telling[-1]:
        line = f"{line} {telling[telling.index(line) + 1].strip()}"
    return line


def _is_header(line: str) -> bool:
    return bool(HEADER.search(TASK_PREFIX.sub("", line)))


def _indented(lines: list[str]) -> list[str]:
    """The first lines that belong to the line above them."""
    end = next((at for at, line in enumerate(lines) if line[:1] not in (" ", "\t", "|", "│")), len(lines))
    return lines[:end]


def _without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def _shortened(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS // 2] + "…" + line[-MAX_LINE_CHARS // 2 :]


def _cut(line: str) -> str:
    """A line in the room that is stored, cut around what it says: its place, or the message in a JSON object."""
    line = " ".join(line.split())
    if len(line) <= ERROR_CHARS:
        return line
    if message := re.search(r'"(?:message|error|detail|reason|error_description)"\s*:\s*"([^"]{4,})"', line):
        line = line[max(0, min(message.start(), message.end(1) + 1 - ERROR_CHARS)) :]
        return line if len(line) <= ERROR_CHARS else line[: ERROR_CHARS - 1] + "…"
    return (clip if PLACE.search(line, 0, ERROR_CHARS * 3 // 4) else clip_ends)(line, ERROR_CHARS)
