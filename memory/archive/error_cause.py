"""The line of a failed call's output that says why it failed. Imported only where a call failed.

Tools say it in their own forms: a compiler names file and line, a test runner the test and what it got, Python the
error behind its frames. What a runner says of a runner (`task failed`, `exit status 1`) is told only where nothing
else is.
"""

import re
from itertools import pairwise

from core.names import is_file
from core.quoting import clip, clip_ends
from memory.archive.texts import is_error_line

ERROR_CHARS = 240
_MOST_PLACES, _TEST_CHARS = 3, 40
_MOST_LINES, _LINE_CHARS = 4_000, 4_000
_LATE_LINES = 12
"""So far behind an error stands where it was, or what it got."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LEFT_OUT = re.compile(r"(?m)^\.\.\. \[\d+ characters truncated\] \.\.\.$\s*|…\d+ (?:tokens|chars) truncated…")
"""Where the client left something out; half a line is behind it."""
_RUN_BY = re.compile(r"^(?:\[[\w:.@/ -]+\] |[@\w/.-]+ \w[\w:.-]*: )")
"""What runs several tasks puts before each line: `[lint:go] `, `@acme/core test: `."""
_PLACE = re.compile(r"(?P<file>(?:[A-Za-z]:)?[^\s:()\"'`…]+\.\w{1,6})(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))(?=[:\s)]|$)")
_SAID = re.compile(r"(?::| -)?\s+(?P<said>\S.*)$")
_NOT_SAID = re.compile(r": #|\+0x|in |\W*warn|note|info\b|remark|debug", re.IGNORECASE)
"""Behind a place: a package, a frame, what is no error."""
_POINTS = re.compile(r"^\s*(?:-->|└─|╭─\[|at) ?(\S+\.\w+:\d+(?::\d+)?)")
_ABOVE = re.compile(r"\s*(?:error(?:\[\w+\])?:|\*\* \(|error )")
_ESLINT = re.compile(r"\s+(\d+:\d+)\s+error\s+(.*)")
_SOURCE = re.compile(r"^\s*(?:>\s*)?\d*\s*(?:[|│┃→]|\d+ [|│┃])")
_DEPENDENCY = re.compile(
    r"node_modules|site-packages|dist-packages|/lib/python\d|<frozen|<string>|/pkg/mod/|/go/\d|/\.cargo/|node:"
)
_GO_FAILED = re.compile(r"^\s*--- FAIL: (\S+)")
_GO_RUNS = re.compile(r"^=== (?:RUN|CONT|NAME|PAUSE)\s+(\S+)")
_GO_SAID = re.compile(r"^\s+([\w.-]+\.go:\d+: ?.*)$")
_GO_CUT = re.compile(r"^…[\w.-]*_test\.go:\d+: \S")
"""What a test said, behind what the client left out."""
_GO_FRAME = re.compile(r"\t(?:.*/)?([\w.-]+\.go:\d+) \+0x")
_TESTIFY_PLACE = re.compile(r"\s+Error Trace:\s+(\S+)")
_TESTIFY = re.compile(r"\s+(Error|Test|Messages|):?\s+\t?(.*)")
_FRAME = re.compile(r'^\s+File "(.+)", line (\d+)')
_JS_TEST = re.compile(
    r"^\s*(?:● (?P<jest>.+)|FAIL\s+\S+\.\w+ > (?P<vitest>.+)|\(fail\) (?P<bun>.+?)(?: \[[\d.]+m?s\])?)$"
)
_JS_ERROR = re.compile(r"\s*(?:[\w.]*Error\b.*?:|error:|expect\(|\^ this)")
_JS_GOT = re.compile(r"\s*(?:Expected|Received)\b.*:")
_CONFLICT = re.compile(r"^\s*CONFLICT \(")
_ABSENT = re.compile(r"[\w./-]+: (?:[^:]+: )?(?:No such file or directory|Permission denied|unrecognized)")
_ERROR = re.compile(
    r"^\s*(?:\S+: )?(?:[\w.]*(?:Error|Exception)\b[^:]{0,40}|panic|fatal|error(?:\[\w+\])?|✖|× "
    r"|thread '.*panicked at.*):?\s",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"^</?\w+>|^\s*(?:FAIL|ok|PASS|#|\?)(?:\s|$)|^\s*(?:={3}|---|✓|\(pass\)|[>$] |hint:|Traceback )"
    r"|\[(?:build|setup) failed\]|\btask failed|make(?:\[\d+\])?: \*\*\*|ERR_PNPM_RECURSIVE|ELIFECYCLE"
    r"|exit(?:ed)?(?: with)? (?:status|code)|\bwith exit code|error: script |error: command .* failed$"
    r"|^npm (?:err!|error)\s*(?:code|path|workspace|location|command|errno|lifecycle|signal|a complete|$)"
    r"|^\s*(?:\S+ )?found \d+ |^\W*\d+ (?:issues?|errors?|problems?|failed|failing|pass)|test suites?:|tests?:\s+\d"
    r"|some errors were emitted|husky - |pre-commit script|run with (?:--verbose|`?RUST)|automatic merge failed"
    r"|error: could not apply|no fixes applied|could not compile|aborting due to|too many errors",
    re.IGNORECASE,
)
"""What is told of what failed, and says nothing of why."""
_MESSAGE = re.compile(r'"(?:message|error|detail|reason|error_description)"\s*:\s*"([^"]{4,})"')
_VERDICTS = tuple(
    re.compile(sign)
    for sign in (
        r"--- FAIL: \S", r"FAILED \S+\.py\b", r"\(fail\) \S", r"FAIL\s+\S+\.\w", r"test result: FAILED", r"FAIL\t\S",
        r"=+ .*\b[1-9]\d* failed\b.* =+$", r"[1-9]\d* failed\b.* in [\d.]+s", r"Tests:?\s+.*\b[1-9]\d* failed\b",
        r"\[[\w:.-]+\] ERROR task failed$",
    )
)  # fmt: skip
"""In a line of its own, what a runner says of a test, of tests, of a task that failed: what names a test goes first."""
_GO_PACKAGE = re.compile(r"# [\w.-]+(?:/[\w.-]+)*(?: \[.+\])?$")
_TIMED_OUT = ("command timed out", "exec_command failed", "apply_patch verification failed")


def error_line(output: str) -> str:
    """Why a call failed, on one line: with file and line, or the test, where they are told; else what says most."""
    text = _LEFT_OUT.sub("…", _ESCAPES.sub("", output))
    lines = [_within(line.rstrip()) for line in text.splitlines() if line.strip()]
    if len(lines) > _MOST_LINES:
        lines = lines[: _MOST_LINES // 2] + lines[-_MOST_LINES // 2 :]
    for line in (*lines[:2], *lines[-2:]):  # what the client says of it
        if line.lower().startswith(_TIMED_OUT):
            return _cut(line)
    for line in lines[:3]:  # what a program says of what it was given
        if _ABSENT.match(line):
            return _cut(line)
    for find in (_conflict, _raised, _pytest, _compiled, _go_test, _js_test, _marked):
        if found := find(lines):
            return _cut(found)
    package = next((line for line in lines if line.startswith("FAIL\t")), "")
    plain = (line for line in lines if not _HEADER.search(_RUN_BY.sub("", line)))
    return _cut(package or next(plain, lines[0] if lines else ""))


def verdict_line(output: str) -> str:
    """What failed by an output in which a test runner or a build of Go says that it did, with its place, else the line
    that says so; "" for none."""
    whole = [line.rstrip()[:_LINE_CHARS] for line in _ESCAPES.sub("", output).splitlines() if line.strip()]
    lines = [line.strip() for line in whole]
    for sign in _VERDICTS:
        if found := next(filter(sign.match, lines), ""):
            return _cut(next(filter(_PLACE.search, (_compiled(whole), _go_test(whole))), found))
    return _cut(next((below for line, below in pairwise(lines) if _GO_PACKAGE.match(line) and _PLACE.match(below)), ""))


def _within(line: str) -> str:
    """A line that is no longer than what is looked at."""
    return line if len(line) <= _LINE_CHARS else line[: _LINE_CHARS // 2] + "…" + line[-_LINE_CHARS // 2 :]


def _cut(line: str) -> str:
    """A line within the room that is kept, around what it says; its place and the message of a JSON stay."""
    line = " ".join(line.split())
    if len(line) <= ERROR_CHARS:
        return line
    if message := _MESSAGE.search(line):
        line = line[max(0, min(message.start(), message.end(1) + 1 - ERROR_CHARS)) :]
        return line if len(line) <= ERROR_CHARS else line[: ERROR_CHARS - 1] + "…"
    return (clip if _PLACE.search(line, 0, ERROR_CHARS * 3 // 4) else clip_ends)(line, ERROR_CHARS)


def _conflict(lines: list[str]) -> str:
    return next((line.strip() for line in lines if _CONFLICT.match(line)), "")


def _raised(lines: list[str]) -> str:
    """The error behind the last traceback of Python, with the innermost frame that is no dependency."""
    begins = [at for at, line in enumerate(lines) if line.lstrip().startswith("Traceback (most recent")]
    if not begins:
        return ""
    place, at = "", begins[-1]
    depth = len(lines[at]) - len(lines[at].lstrip())
    for line in lines[at + 1 :]:
        if frame := _FRAME.match(line):
            place = f"{frame[1]}:{frame[2]}: " if not _DEPENDENCY.search(frame[1]) else place
        elif len(line) - len(line.lstrip()) <= depth:
            return place + line.strip()
    return ""


def _compiled(lines: list[str]) -> str:
    """What a compiler or a linter says first of up to three places: `a.go:3:1: undefined: x`, `a.ts(3,1): error …`."""
    told: list[str] = []
    for at, line in enumerate(lines):
        bare = _RUN_BY.sub("", line)
        if _SOURCE.match(bare) or _GO_SAID.match(line) or _DEPENDENCY.search(bare):
            continue
        place = _PLACE.match(bare)
        if place and is_file(place["file"]):
            found = _at(bare, place.end(), lines[at + 1 : at + _LATE_LINES])
        elif _ABOVE.match(bare) and not _HEADER.search(bare):
            where = next(filter(None, map(_POINTS.match, _indented(lines[at + 1 : at + _LATE_LINES]))), None)
            found = f"{where[1]}: {bare.strip()}" if where else ""
        else:
            found = _under(bare, lines[at + 1 : at + 4])
        if told and (len(told) == _MOST_PLACES or len(" · ".join([*told, found])) > ERROR_CHARS):
            break
        told += [found] * bool(found)
    return " · ".join(told)


def _at(line: str, end: int, behind: list[str]) -> str:
    """A line that tells of the place in front of it, which ends there; "" where that is no error."""
    found = _SAID.match(line, end)
    said = found["said"] if found else ""
    if said.endswith("━"):  # biome: here is the rule
        return _crossed(line[:end], behind[:3])
    if not said or _HEADER.search(said) or _NOT_SAID.match(said):
        return ""
    whole = line.strip()
    for more in behind[:6]:  # a text of several lines is quoted
        if whole.count("`") % 2 == 0:
            break
        whole = f"{whole} {more.strip()}"
    return whole


def _under(line: str, behind: list[str]) -> str:
    """What is said of a file under its name, by biome and eslint."""
    file, _, more = line.partition(" ")
    if not is_file(file):
        return ""
    if more.endswith("━"):
        return _crossed(file.removeprefix("./"), behind)
    found = _ESLINT.match(behind[0]) if behind and not more else None
    return f"{file}:{found[1]}: {found[2]}" if found else ""


def _crossed(place: str, behind: list[str]) -> str:
    said = next((one for one in behind if one.strip()[:1] in ("×", "✖")), "")
    return f"{place}: {said.strip(' ×✖')}" if said else ""


def _indented(lines: list[str]) -> list[str]:
    """The first lines that belong to the one above them."""
    end = next((at for at, line in enumerate(lines) if line[:1] not in (" ", "\t", "|", "│")), len(lines))
    return lines[:end]


def _go_test(lines: list[str]) -> str:
    """The first test of Go that failed, its innermost part, and the last that it said."""
    said: dict[str, list[str]] = {}
    failed: list[str] = []
    test = ""
    for at, line in enumerate(lines):
        if begins := _GO_RUNS.match(line):
            test = begins[1]
        elif ends := _GO_FAILED.match(line):
            test = ends[1]
            failed.append(test)
        elif line.startswith("panic: ") and failed:
            frames = (_GO_FRAME.match(one) for one in lines[at:] if not _DEPENDENCY.search(one))
            place = next((f" ({frame[1]})" for frame in frames if frame), "")
            return f"{failed[-1]}: {line.partition(' [recovered')[0]}{place}"
        elif tells := _GO_SAID.match(line):
            said.setdefault(test, []).append(tells[1].strip())
        elif (traced := _TESTIFY_PLACE.match(line)) and said.get(test):
            said[test][-1] = _testify(lines[at + 1 : at + _LATE_LINES], traced[1])
    for name in sorted(failed, key=lambda one: (not said.get(one), -one.count("/"))):
        own = said.get(name, [])
        # a test ends with what failed it; what it logs before stands in other files
        telling = [one for one in own if "_test.go:" in one] or own
        return f"{clip(name, _TEST_CHARS)}: {telling[-1]}" if telling else f"--- FAIL: {name}"
    # without -v only tests that failed say anything
    return "" if test else next(filter(_GO_CUT.match, lines), "")


def _testify(lines: list[str], place: str) -> str:
    """What testify says, whose label and text stand side by side: place, error, message."""
    parts: dict[str, str] = {}
    label = ""
    for line in lines:
        found = _TESTIFY.match(line)
        if not found:
            break
        label = found[1] or label
        parts[label] = f"{parts.get(label, '')} {found[2].strip()}".strip()
    return f"{place.rpartition('/')[2]}: {parts.get('Error', '')} {parts.get('Messages', '')}"


def _pytest(lines: list[str]) -> str:
    """The first `E` line of pytest and the place below it."""
    for at, line in enumerate(lines):
        if line.startswith("E  "):
            places = (_PLACE.match(one) for one in lines[at + 1 :])
            place = next((one[0] + ": " for one in places if one and one["file"].endswith(".py")), "")
            return place + line[1:].strip()
    return ""


def _js_test(lines: list[str]) -> str:
    """The first test that failed of jest, vitest and bun, with its error and what it got."""
    for at, line in enumerate(lines):
        found = _JS_TEST.match(_RUN_BY.sub("", line))
        if not found:
            continue
        name = str(next(filter(None, found.groups()))).replace(" › ", " > ").rpartition(" > ")[2]
        near = lines[at + 1 : at + 30]
        if found["bun"]:  # it names the test at the end
            ends = [n for n in range(at) if lines[n].lstrip().startswith(("(pass)", "(fail)"))]
            near = lines[ends[-1] + 1 if ends else 0 : at + 2]
        errors = [n for n, one in enumerate(near) if _JS_ERROR.match(one)]
        error = next((n for n in errors if not _HEADER.search(near[n])), errors[0] if errors else -1)
        if error < 0:
            return name
        got = [one.strip() for one in near[error + 1 : error + _LATE_LINES] if _JS_GOT.match(one)]
        return f"{clip(name, _TEST_CHARS * 2)}: {', '.join([near[error].strip(' ^'), *got[:2]])}"
    return ""


def _marked(lines: list[str]) -> str:
    """The first line that begins like an error, else the first with a word of errors; headers are neither."""
    telling = [line for line in lines if not _HEADER.search(_RUN_BY.sub("", line)) and not _SOURCE.match(line)]
    begins = (line for line in telling if _ERROR.match(line) and is_error_line(line))
    line = next(begins, "") or next(filter(is_error_line, telling), "")
    if line.endswith(":") and line != telling[-1]:
        line = f"{line} {telling[telling.index(line) + 1].strip()}"
    return line
