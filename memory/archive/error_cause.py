"""The line of a failed call's output that says why it failed. Imported only if a call failed.

Each tool has its own form: a compiler names file and line, a test runner the test and the value it got, Python the
error after its frames. A runner's own report (`task failed`, `exit status 1`) is used only if there is nothing else.
Each class below reads the form of one kind of tool.
"""

import re
from itertools import pairwise

from core.names import is_file
from core.quoting import clip, clip_ends
from memory.archive.texts import is_error_line

ERROR_CHARS = 240  # of the line that is stored
MAX_LINE_CHARS = 4_000
NEAR_LINES = 12  # after an error, in which its place or its values follow
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
    if len(lines) > 4000:
        lines = lines[:2000] + lines[-2000:]
    for line in (*lines[:2], *lines[-2:]):  # what the client says about the call
        if line.lower().startswith(("command timed out", "exec_command failed", "apply_patch verification failed")):
            return _cut(line)
    for line in lines[:3]:  # what a program says about its arguments
        if re.match(r"[\w./-]+: (?:[^:]+: )?(?:No such file or directory|Permission denied|unrecognized)", line):
            return _cut(line)
    for find in (_conflict, _python_error, _pytest_error, Compiler.errors, GoTest.error, JsTest.error, _marked_line):
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
            return _cut(next(filter(PLACE.search, (Compiler.errors(whole), GoTest.error(whole))), found))
    package = re.compile(r"# [\w.-]+(?:/[\w.-]+)*(?: \[.+\])?$")
    return _cut(next((below for line, below in pairwise(lines) if package.match(line) and PLACE.match(below)), ""))


class Compiler:
    """Compilers and linters: `a.go:3:1: undefined: x`, `a.ts(3,1): error …`, an error above its place, and the
    reports of biome and eslint under the name of a file."""

    MOST = 3  # errors of an output
    message = re.compile(r"(?::| -)?\s+(?P<text>\S.*)$")
    # after a place: a package, a frame, a warning
    no_error = re.compile(r": #|\+0x|in |\W*warn|note|info\b|remark|debug", re.IGNORECASE)
    heading = re.compile(r"\s*(?:error(?:\[\w+\])?:|\*\* \(|error )")
    pointer = re.compile(r"^\s*(?:-->|└─|╭─\[|at) ?(\S+\.\w+:\d+(?::\d+)?)")
    eslint = re.compile(r"\s+(\d+:\d+)\s+error\s+(.*)")

    @classmethod
    def errors(cls, lines: list[str]) -> str:
        """The first errors, up to three."""
        found: list[str] = []
        for at, line in enumerate(lines):
            bare = TASK_PREFIX.sub("", line)
            if SOURCE_LINE.match(bare) or GoTest.message.match(line) or DEPENDENCY.search(bare):
                continue
            near = lines[at + 1 : at + NEAR_LINES]
            place = PLACE.match(bare)
            if place and is_file(place["file"]):
                error = cls._at(bare, place.end(), near)
            elif cls.heading.match(bare) and not HEADER.search(bare):
                pointer = next(filter(None, map(cls.pointer.match, _indented(near))), None)
                error = f"{pointer[1]}: {bare.strip()}" if pointer else ""
            else:
                error = cls._under_file(bare, near[:3])
            if found and (len(found) == cls.MOST or len(" · ".join([*found, error])) > ERROR_CHARS):
                break
            found += [error] * bool(error)
        return " · ".join(found)

    @classmethod
    def _at(cls, line: str, end: int, near: list[str]) -> str:
        """The error that follows a place, which ends at `end`; "" if it is none."""
        found = cls.message.match(line, end)
        text = found["text"] if found else ""
        if text.endswith("━"):  # biome: this is the rule
            return cls._crossed(line[:end], near[:3])
        if not text or HEADER.search(text) or cls.no_error.match(text):
            return ""
        whole = line.strip()
        for more in near[:6]:  # a quoted text of several lines
            if whole.count("`") % 2 == 0:
                break
            whole = f"{whole} {more.strip()}"
        return whole

    @classmethod
    def _under_file(cls, line: str, near: list[str]) -> str:
        file, _, more = line.partition(" ")
        if not is_file(file):
            return ""
        if more.endswith("━"):
            return cls._crossed(file.removeprefix("./"), near)
        found = cls.eslint.match(near[0]) if near and not more else None
        return f"{file}:{found[1]}: {found[2]}" if found else ""

    @staticmethod
    def _crossed(place: str, near: list[str]) -> str:
        text = next((line for line in near if line.strip()[:1] in ("×", "✖")), "")
        return f"{place}: {text.strip(' ×✖')}" if text else ""


class GoTest:
    """`go test`, with testify."""

    failed = re.compile(r"^\s*--- FAIL: (\S+)")
    running = re.compile(r"^=== (?:RUN|CONT|NAME|PAUSE)\s+(\S+)")
    message = re.compile(r"^\s+([\w.-]+\.go:\d+: ?.*)$")
    cut_message = re.compile(r"^…[\w.-]*_test\.go:\d+: \S")  # after what the client left out
    frame = re.compile(r"\t(?:.*/)?([\w.-]+\.go:\d+) \+0x")
    testify_place = re.compile(r"\s+Error Trace:\s+(\S+)")
    testify = re.compile(r"\s+(Error|Test|Messages|):?\s+\t?(.*)")

    @classmethod
    def error(cls, lines: list[str]) -> str:
        """The first failed test, its innermost part, and the last message of it."""
        messages: dict[str, list[str]] = {}
        failed: list[str] = []
        test = ""
        for at, line in enumerate(lines):
            if begins := cls.running.match(line):
                test = begins[1]
            elif ends := cls.failed.match(line):
                test = ends[1]
                failed.append(test)
            elif line.startswith("panic: ") and failed:
                frames = (cls.frame.match(below) for below in lines[at:] if not DEPENDENCY.search(below))
                place = next((f" ({frame[1]})" for frame in frames if frame), "")
                return f"{failed[-1]}: {line.partition(' [recovered')[0]}{place}"
            elif message := cls.message.match(line):
                messages.setdefault(test, []).append(message[1].strip())
            elif (traced := cls.testify_place.match(line)) and messages.get(test):
                messages[test][-1] = cls._testify_error(lines[at + 1 : at + NEAR_LINES], traced[1])
        for name in sorted(failed, key=lambda name: (not messages.get(name), -name.count("/"))):
            own = messages.get(name, [])
            # what failed a test is its last message; its logs before come from other files
            telling = [message for message in own if "_test.go:" in message] or own
            return f"{clip(name, 40)}: {telling[-1]}" if telling else f"--- FAIL: {name}"
        # without -v only failed tests print anything
        return "" if test else next(filter(cls.cut_message.match, lines), "")

    @classmethod
    def _testify_error(cls, lines: list[str], place: str) -> str:
        """Place, error and message of testify, which prints labels and texts in two columns."""
        parts: dict[str, str] = {}
        label = ""
        for line in lines:
            found = cls.testify.match(line)
            if not found:
                break
            label = found[1] or label
            parts[label] = f"{parts.get(label, '')} {found[2].strip()}".strip()
        return f"{place.rpartition('/')[2]}: {parts.get('Error', '')} {parts.get('Messages', '')}"


class JsTest:
    """jest, vitest and bun."""

    failed = re.compile(
        r"^\s*(?:● (?P<jest>.+)|FAIL\s+\S+\.\w+ > (?P<vitest>.+)|\(fail\) (?P<bun>.+?)(?: \[[\d.]+m?s\])?)$"
    )
    raised = re.compile(r"\s*(?:[\w.]*Error\b.*?:|error:|expect\(|\^ this)")
    values = re.compile(r"\s*(?:Expected|Received)\b.*:")

    @classmethod
    def error(cls, lines: list[str]) -> str:
        """The first failed test, with its error and the values that it compared."""
        for at, line in enumerate(lines):
            found = cls.failed.match(TASK_PREFIX.sub("", line))
            if not found:
                continue
            name = str(next(filter(None, found.groups()))).replace(" › ", " > ").rpartition(" > ")[2]
            near = lines[at + 1 : at + 30]
            if found["bun"]:  # it names the test at the end
                ends = [n for n in range(at) if lines[n].lstrip().startswith(("(pass)", "(fail)"))]
                near = lines[ends[-1] + 1 if ends else 0 : at + 2]
            errors = [n for n, near_line in enumerate(near) if cls.raised.match(near_line)]
            error = next((n for n in errors if not HEADER.search(near[n])), errors[0] if errors else -1)
            if error < 0:
                return name
            values = [line.strip() for line in near[error + 1 : error + NEAR_LINES] if cls.values.match(line)]
            return f"{clip(name, 80)}: {', '.join([near[error].strip(' ^'), *values[:2]])}"
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
