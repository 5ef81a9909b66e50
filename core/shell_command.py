"""Splits a shell command into its steps: the programs that it runs, with their verbs, and whether they only read.

Hot path, so it scans by hand. It does not expand anything: a quoted text is a single word, and the contents of `$(…)`,
of a here-document and of a comment are not steps.
"""

from __future__ import annotations

from core import TYPE_CHECKING
from core.names import is_file

if TYPE_CHECKING:
    from typing import TypedDict

    class Step(TypedDict):
        """A program that a command runs, its name without a folder."""

        program: str
        verb: str
        """Its verb (`test`, `run lint`), "" for a program without verbs."""
        looks: bool
        """Whether it only reads, sets up the shell, or tries a line of code."""
        words: list[str]
        targets: list[str]
        """The files after `<` and `>`."""
        start: int
        """Its offset in the command."""
        mark: str
        """What follows it: `;`, `&`, `&&`, `|`, `||`, "" at the end; `||` after a condition."""


_LOOKERS = frozenset(
    "cat|bat|ls|head|tail|sed|grep|egrep|fgrep|rg|ack|ag|find|fd|echo|printf|pwd|wc|which|type|command|cd|sleep|"
    "tree|stat|file|jq|awk|diff|cmp|du|df|less|more|nl|sort|uniq|cut|tr|tee|column|xargs|basename|dirname|"
    "realpath|readlink|ps|pgrep|kill|pkill|killall|tmux|curl|wget|env|printenv|man|date|seq|test|[|[[|true|false|"
    "read|export|set|unset|source|.|pushd|popd|exit|wait|trap|ulimit|umask|alias|break|continue|shift|return|"
    "local|declare|sha256sum|shasum|md5sum|xxd|od|hexdump|git show|git log|git grep|git ls-tree|git ls-files|"
    "git diff|git cat-file|git rev-parse|git blame|git status|git branch|git config|git merge-base|"
    "git check-ignore|git stash|git fetch|git remote|git tag|gh api|gh run|gh pr|gh issue|go doc|npm view|npm ls|"
    "python json.tool|python3 json.tool".split("|")
)
"""Programs, alone or with a verb, that only read or set up the shell."""
_ONLY_TELLS = ("--help", "--version", "--list", "--collect-only", "--dry-run")
"""Options with which a program only says what it is or would do."""
INTERPRETERS = frozenset("python python3 node bun".split())
"""Interpreters: without a verb they run a line of code, or a here-document, once."""
_WITH_VERB = frozenset(
    "git gh go npm pnpm yarn bun cargo docker make uv uvx npx pip python python3 node mise task just kubectl mix rake"
    " bundle poetry dotnet mvn gradle gradlew terraform".split()
)
_WRAPPERS = {
    "sudo": "-u -g -h -p -C -T -D -R -r -t --user --group", "doas": "-u -C", "env": "-u -C -S --unset --chdir",
    "timeout": "-s -k --signal --kill-after", "time": "-f -o", "nice": "-n", "ionice": "-c -n", "stdbuf": "-i -o -e",
    "xargs": "-n -P -I -L -d -E -s -a", "nohup": "", "command": "", "exec": "-a", "builtin": "", "setsid": "",
}  # fmt: skip
"""Programs that run another, and their options that take the next word."""
_ENDS_WORD = " \t\r\n;|&()<>"
_CLOSED_BY = {"(": ")", "{": "}", '"': '"', "`": "`"}
_PLACE_CHARS = 160
_steps_of: dict[str, list[Step]] = {}
"""The steps of the last command: several questions are asked about each."""


def steps(command: str) -> list[Step]:
    """The steps of a command in order, including pipes, subshells, loops and `bash -c`; in linear time."""
    if command not in _steps_of:
        _steps_of.clear()
        _steps_of[command] = _steps(command)
    return _steps_of[command]


def _steps(command: str) -> list[Step]:
    found: list[Step] = []
    for words, targets, start, mark in _Scan(command).read():
        if words[0] in ("done", "fi", "esac", "}") and found:
            found[-1]["mark"] = mark
        given = _from_program(words)
        if not given:
            continue
        program, verb = given[0].rpartition("/")[2], _verb(given)
        is_shell = program in ("bash", "sh", "zsh", "dash") and len(given) > 2
        if is_shell and given[1][0] == "-" and given[1][-1] == "c":
            inner = _steps(given[2])
            for step in inner:
                step["start"] = start
            if inner:
                inner[-1]["mark"] = mark
            found += inner
            continue
        looks = program in _LOOKERS or f"{program} {verb}" in _LOOKERS or (program in INTERPRETERS and not verb)
        found.append({
            "program": program, "verb": verb, "words": given, "targets": targets, "start": start,
            "looks": looks or any(word.startswith(_ONLY_TELLS) for word in given),
            "mark": "||" if words[0] in ("if", "elif", "while", "until", "!") else mark,
        })  # fmt: skip
    return found


def only_looks(command: str) -> bool:
    """Whether a command only reads."""
    return all(step["looks"] for step in steps(command))


def edits_files(command: str) -> bool:
    """Whether a command that otherwise only reads changes files: `sed -i`, `tee FILE`, `echo … > FILE`."""
    for step in filter(lambda step: step["looks"], steps(command)):
        options = [word for word in step["words"] if word[:1] == "-"]
        in_place = step["program"] == "sed" and any(word.startswith(("--in-place", "-i", "-Ei")) for word in options)
        is_copied = step["program"] == "tee" and len(step["words"]) > len(options) + 1
        written = [name for name in step["targets"] if not name.startswith(("/dev/", "&"))]
        if in_place or is_copied or any(f">{name}" in command or f"> {name}" in command for name in written):
            return True
    return False


def does(step: Step) -> bool:
    """Whether a step may be worth running again: it does more than read or move files."""
    moves = ("rm", "rmdir", "mv", "cp", "mkdir", "touch", "ln", "chmod", "chown", "unlink")
    return not step["looks"] and step["program"] not in moves


def reliable_outcome(command: str, outcome: str) -> str:
    """A command's outcome; "" if its `ok` is only that of another program, as in `make | tail`."""
    return "" if outcome == "ok" and not has_reliable_status(command) else outcome


def has_reliable_status(command: str) -> bool:
    """Whether the command's success means that its work succeeded: not for `make | tail` without `pipefail`."""
    run = steps(command)
    piped, stops = _set_at(run, "pipefail"), _set_at(run, "errexit")
    works = ends = False  # whether a later step does work, or ends the command with a failure
    for at in range(len(run) - 1, -1, -1):
        step = run[at]
        if step["program"] in ("exit", "return") and at == len(run) - 1 and "$" in "".join(step["words"]):
            return True  # it passes a status on
        ends = ends or (step["program"] in ("exit", "return", "false") and step["words"][1:2] != ["0"])
        if step["looks"]:
            continue
        mark, last = step["mark"], at == len(run) - 1
        if (mark == "|" and at < piped) or mark == "&" or (mark == "||" and not works and not ends):
            return False
        if mark == ";" and not last and not works and at < stops:
            return False
        works = works or does(step)
    return True


def place_of(file: str, command: str) -> str:
    """The place of a call's work: its file, the file that its command names, or the program and its verb."""
    if file:
        return file[:_PLACE_CHARS]
    found = steps(command)
    run = [step for step in found if step["program"] != "cd"] or found
    pattern = set("*$ \t\n")  # a path has these only if the shell expands it, or in prose
    for step in run:
        for word in (*step["words"], *step["targets"]):
            bare = word.strip("'\"()`;,").rpartition("=")[2]
            if not bare.startswith("-") and "/" in bare and is_file(bare) and pattern.isdisjoint(bare):
                return bare[:_PLACE_CHARS]
    doing = [step for step in run if not step["looks"]] or run
    return f"{doing[0]['program']} {doing[0]['verb'].partition(' ')[0]}".rstrip()[:_PLACE_CHARS] if doing else ""


def place_in(output: str, position: int, *, has_diff: bool) -> str:
    """The file that a position in an output belongs to, or "".

    It is named in the line of a search or compiler or, if the output `has_diff`, above the diff.
    """
    start = output.rfind("\n", 0, position) + 1
    path = output[start : start + _PLACE_CHARS].lstrip(" \t").partition("\n")[0].partition(":")[0]
    if is_file(path) and " " not in path:
        return path.removeprefix("./")
    above = output.rfind("\n+++ b/", max(0, start - 20_000), start) if has_diff else -1
    if above >= 0 and "\ndiff " not in output[above:start]:
        path = output[above + 7 : above + 7 + _PLACE_CHARS].partition("\n")[0]
        return path if is_file(path) else ""
    return ""


def _set_at(run: list[Step], option: str) -> int:
    """The number of the step that sets a shell option, more than there are if none does."""
    for at, step in enumerate(run):
        if step["program"] == "set":
            short = any(word[:1] == "-" and word[1:2] != "-" and "e" in word for word in step["words"])
            if option in step["words"] or (short and option == "errexit"):
                return at
    return len(run) + 1


def _from_program(words: list[str]) -> list[str]:
    """The words from the program that a part finally runs, after `if`, `sudo -E`; else none."""
    at = 0
    while at < len(words) and words[at] in ("if", "then", "else", "elif", "do", "while", "until", "!", "{", "coproc"):
        at += 1
    blocks = ("for", "select", "case", "function", "done", "fi", "esac", "}", "in", ";;")
    if words[at : at + 1] and words[at] in blocks:
        return []
    while at < len(words):
        program = words[at].rpartition("/")[2]
        if _is_assignment(words[at]):
            at += 1
            continue
        if program not in _WRAPPERS or (program == "command" and words[at + 1 : at + 2] in (["-v"], ["-V"])):
            break
        valued, inner = _WRAPPERS[program].split(), at + 1
        while inner < len(words) and (words[inner].startswith("-") or _is_assignment(words[inner])):
            inner += 2 if words[inner] in valued else 1
        inner += program == "timeout"  # how long
        if inner >= len(words):
            break
        at = inner
    program = words[at].rpartition("/")[2] if at < len(words) else ""
    if not program or program[0] in "-+" or not set("(){}<>=\"'`,;&|").isdisjoint(program) or len(program.split()) > 1:
        return []
    return words[at:]


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.removesuffix("+").partition("[")[0].isidentifier()


def _verb(words: list[str]) -> str:
    if words[0].rpartition("/")[2] not in _WITH_VERB:
        return ""
    # options that take the next word
    valued = "-C -c -e -f -F -R --prefix --filter --cwd --dir --directory --repo --file --project".split()
    verbs: list[str] = []
    behind_option = False
    for word in words[1:9]:
        if behind_option or word[:1] in ("", "-", "+"):
            behind_option = not behind_option and word in valued
        elif not _is_assignment(word):
            if word.startswith("$") or len(word.split()) > 1:
                break
            verbs.append(word)
            if len(verbs) == 2 or word not in ("run", "exec", "x", "tool", "compose"):
                break
    return " ".join(verbs)


class _Scan:
    """Reads the parts of a command: words, redirected files, offset, and the operator after each."""

    def __init__(self, command: str) -> None:
        self.text = command + "\n"
        self.parts: list[tuple[list[str], list[str], int, str]] = []
        self.words: list[str] = []
        self.targets: list[str] = []
        self.pieces: list[str] = []  # of the word that is read
        self.documents: list[str] = []  # the last lines of the here-documents that begin behind this line
        self.into = ""  # the redirection that the next word belongs to
        self.start = -1
        self.depth = 0

    def read(self) -> list[tuple[list[str], list[str], int, str]]:
        text, at = self.text, 0
        while at < len(text):
            char, two = text[at], text[at : at + 2]
            if two == "\\\n":
                at += 2
            elif char == "#" and not self.pieces:
                at = _find(text, "\n", at)
            elif char not in _ENDS_WORD or two in ("<(", ">(", "((") or (char == "(" and text[at - 1 : at] == "="):
                # a bracket is part of its word in `<(…)`, `x=(…)`, `((…))`
                self.start = at if self.start < 0 else self.start
                end = min(_behind_piece(text, at), len(text) - 1)
                self.pieces.append(_plain(text[at:end]))
                at = end
            else:
                self._end_word(char)
                at = self._behind_mark(at, char, two)
        if self.parts and self.parts[-1][3] in (";", ")"):
            self.parts[-1] = (*self.parts[-1][:3], "")
        return self.parts

    def _end_word(self, char: str) -> None:
        if not self.pieces:
            return
        word = "".join(self.pieces)
        if self.into == "<<":
            self.documents.append(word)
        elif self.into:
            self.targets.append(word)
        elif not (char in "<>" and word.isdigit()):  # the 2 of `2>`
            self.words.append(word)
        self.pieces, self.into = [], ""

    def _behind_mark(self, at: int, char: str, two: str) -> int:
        text = self.text
        if char in " \t\r":
            return at + 1
        if char in "<>" or two == "&>":
            end = at + 1
            while text[end] in "<>|&":
                end += 1
            self.into = text[at:end]
            return end + (self.into == "<<" and text[end] == "-")
        self._end_part(two if two in ("&&", "||") else ";" if char == "\n" else char)
        at += 2 if two in ("&&", "||", "|&", ";;") else 1
        if char == "\n":
            for last in self.documents:
                at = _behind_document(text, at, last)
            self.documents = []
        return at

    def _end_part(self, mark: str) -> None:
        if mark == "(" or (mark == ")" and not self.depth):
            self.words = []  # the name of a function, or a pattern of a `case`
            while mark == ")" and self.parts and self.parts[-1][3] == "|":
                self.parts.pop()
        if self.words:
            self.parts.append((self.words, self.targets, self.start, mark))
        elif self.parts and self.parts[-1][3] == ")":
            self.parts[-1] = (*self.parts[-1][:3], mark)
        self.depth = max(0, self.depth + (mark == "(") - (mark == ")"))
        self.words, self.targets, self.into, self.start = [], [], "", -1


def _behind_piece(text: str, at: int) -> int:
    """The end of the quote, bracket or run of plain characters that begins at `at`."""
    char = text[at]
    if char == "\\":
        return at + 2
    if char == "'":
        return _find(text, "'", at + 1) + 1
    if char in '"`(':
        return _behind_bracket(text, at)
    if char in "$<>" and text[at + 1] in "({":
        return _behind_bracket(text, at + 1)
    at += 1
    special = _ENDS_WORD + "\"'`\\$"
    while text[at] not in special:  # the text ends in a "\n"
        at += 1
    return at


def _behind_bracket(text: str, at: int) -> int:
    """The end of the bracket or quote opened at `at`, including all those inside it."""
    waiting = [_CLOSED_BY[text[at]]]
    at += 1
    while at < len(text) and waiting:
        char, inner = text[at], waiting[-1]
        if char == "\\":
            at += 1
        elif char == inner:
            waiting.pop()
        elif char == "'" and inner != '"':
            at = _find(text, "'", at + 1)
        elif char in '"`' or (char in "({" and (text[at - 1] == "$" or inner == _CLOSED_BY[char])):
            waiting.append(_CLOSED_BY[char])
        elif inner == ")" and text.startswith("<<", at) and text[at + 2 : at + 3] not in ("<", "("):
            end = _find(text, "\n", at)
            last = text[at + 2 : end].lstrip("-").split()[:1]
            at = _behind_document(text, end + 1, last[0].strip("'\"\\")) - 1 if last else end
        at += 1
    return min(at, len(text))


def _plain(piece: str) -> str:
    """A piece of a word without its quotes; substitutions are left unexpanded."""
    if piece[0] in "'\"":
        piece = piece[1:-1] if piece[-1] == piece[0] and len(piece) > 1 else piece[1:].removesuffix("\n")
        return piece.replace('\\"', '"')
    return piece[1:] if piece[0] == "\\" else piece


def _behind_document(text: str, at: int, last: str) -> int:
    """The offset behind a here-document that begins at `at`."""
    while at < len(text):
        end = _find(text, "\n", at)
        line = text[at:end].strip()
        at = end + 1
        if line == last:
            break
    return min(at, len(text))


def _find(text: str, sought: str, start: int) -> int:
    """The offset of the sought text, or the end."""
    at = text.find(sought, start)
    return at if at >= 0 else len(text)
