"""The steps of a shell command: which programs it runs, with which verb, and which of them only look. Hot path.

No shell: what is quoted is one word, and what a `$(…)`, a here-document or a comment holds is no step of the command.
"""

from __future__ import annotations

from core.shell_parts import marked_parts, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Step(TypedDict):
        """One program that a command runs."""

        program: str
        """Its name without a folder."""
        verb: str
        """What it is told to do (`test`, `run lint`), "" for a program without verbs."""
        looks: bool
        """Whether it only looks, sets up the shell, or tries a line of code."""
        words: list[str]
        """What it is given, without quotes; a message is one word."""
        targets: list[str]
        """The files behind `<` and `>`."""
        start: int
        """Where in the command it begins."""

    class Run(TypedDict):
        """A step in its line."""

        step: Step
        fate: int
        """What a success of the line says of it: COUNTS, PASSED or LOST."""
        fed: bool
        """Whether it reads what the step before it prints."""


_LOOKERS = frozenset(
    "cat bat ls head tail sed grep egrep fgrep rg ack ag find fd echo printf pwd wc which type command cd sleep tree"
    " stat file jq awk diff cmp du df less more nl sort uniq cut tr tee column xargs basename dirname realpath readlink"
    " ps pgrep kill pkill tmux curl wget env printenv man date test [ [[ true false read"
    " export set unset source . pushd popd exit wait trap ulimit umask alias break"
    " continue shift return local declare sha256sum shasum md5sum xxd od hexdump".split()
)
# They fail where they find nothing.
_LOOKING = frozenset(
    "git show|git log|git grep|git ls-tree|git ls-files|git diff|git cat-file|git rev-parse|git blame|git status"
    "|git branch|git config|git merge-base|git check-ignore|git stash|gh api|gh run|gh pr|gh issue|go doc|npm view"
    "|npm ls|python json.tool|python3 json.tool".split("|")
)
_INTERPRETERS = frozenset("python python3 node bun".split())
"""Without a verb they are given a line of code, or a here-document, that is tried once."""
_ONCE = frozenset("rm rmdir mv cp mkdir touch ln chmod chown".split())
_WITH_VERB = frozenset(
    "git gh go npm pnpm yarn bun cargo docker make uv uvx npx pip python python3 node mise task just kubectl mix rake"
    " bundle poetry dotnet mvn gradle gradlew terraform".split()
)
_RUNNERS = frozenset("run exec x tool compose".split())
_VALUED = frozenset("-C -c -e -f -F -R --prefix --filter --cwd --dir --directory --repo --file --project".split())
"""Options in front of a verb that take the next word."""
_VERB_AMONG = 8
_BEFORE = {
    "sudo": "-u -g -h -p -C -T -D -R -r -t --user --group", "doas": "-u -C", "env": "-u -C -S --unset --chdir",
    "timeout": "-s -k --signal --kill-after", "time": "-f -o", "nice": "-n", "ionice": "-c -n", "stdbuf": "-i -o -e",
    "xargs": "-n -P -I -L -d -E -s -a", "nohup": "", "command": "", "exec": "-a", "builtin": "", "setsid": "",
}  # fmt: skip
"""Programs that run another, and their options that take the next word."""
_KEYWORDS = frozenset("if then else elif do while until ! { coproc".split())
_BLOCKS = frozenset("for select case function done fi esac } in ;;".split())
_SHELLS = frozenset("bash sh zsh dash".split())
_NO_PROGRAM = frozenset("(){}<>=\"'`,;&|")
_ENTERING = frozenset("if while until for select case {".split())
_CLOSING = frozenset("done fi esac }".split())
_SEEKING = frozenset("grep egrep fgrep rg".split())
_FILTERS = _SEEKING | frozenset("wc awk jq cut tr uniq sort diff md5sum sha256sum xargs".split())
"""Behind a pipe they leave out lines."""
COUNTS, PASSED, LOST = 0, 1, 2
"""The status of a step is the line's, or the line would have failed with it; it was passed over for that of the next
one; or it went to a pipe, to the background, or was excused."""


def steps(command: str) -> list[Step]:
    """The steps of a command in order, those of pipes, subshells, loops and `bash -c` too; takes linear time."""
    found: list[Step] = []
    for words, targets, start in parts_of(command):
        words = _program_of(words)
        inner = _inner(words)
        if inner:
            found += [{**step, "start": start} for step in steps(inner)]
        elif words:
            found.append(_step(words, targets, start))
    return found


def kind(step: Step) -> str:
    """Program and verb: `git commit`, `mise run lint`."""
    return f"{step['program']} {step['verb']}".rstrip()


def does(step: Step) -> bool:
    """Whether a step runs what may be wanted again: no program that only reads, and none that puts files somewhere."""
    return step["program"] not in _LOOKERS and step["program"] not in _ONCE


def without_folder(command: str) -> str:
    """The command behind the `cd …` that it begins with."""
    command = command.strip()
    if command.startswith("cd "):
        for step in steps(command):
            if step["program"] != "cd":
                return command[step["start"] :]
    return command


def told(command: str, outcome: str) -> str:
    """The outcome of a command as it is told: "" for an `ok` that is that of another program than the one at work."""
    return "" if outcome == "ok" and not tells(command) else outcome


def tells(command: str) -> bool:
    """Whether a success of the line is one of what it does.

    It is not where what does something stands before a `|`, without `pipefail`, or before a `;`, `||` or `&` behind
    which it only looks, prints or puts files somewhere.
    """
    runs = fates(command)
    last = runs[-1]["step"] if runs else None
    if last and last["program"] in ("exit", "return") and "$" in "".join(last["words"]):
        return True  # it hands on a status that it kept
    doing = [run for run in runs if not run["step"]["looks"]]
    if all(run["fate"] == COUNTS for run in doing):
        return True
    return all(run["fate"] != LOST for run in doing) and any(
        run["fate"] == COUNTS and does(run["step"]) for run in doing
    )


def answers(command: str) -> bool:
    """Whether a line that ended well is taken to have done its work well: it tells so, or would show a failure."""
    return tells(command) or all(
        _shows(run["step"]) for run in fates(command) if run["fed"] or not run["step"]["looks"]
    )


def without_filters(command: str) -> tuple[str, ...]:
    """What a line runs, without what only reads the output of the step before it: the same for `make | tail -3`."""
    return tuple(" ".join(run["step"]["words"]) for run in fates(command) if not (run["fed"] and run["step"]["looks"]))


def fates(command: str) -> list[Run]:
    """What a success of the whole line says of each of its steps, in order."""
    return _fates(command, COUNTS)[::-1]


class _Group:
    """What is known, from behind, of where a step stands: a line, a bracket, a loop, a branch."""

    __slots__ = ("base", "behind", "fate", "is_last", "pipe", "rest", "whole")

    def __init__(self, base: int) -> None:
        self.whole = base
        """What its success says of it, seen from without."""
        self.base = base
        self.fate = base
        self.pipe = COUNTS
        self.is_last = True
        self.behind: list[Step] = []
        """The steps between the mark and the one behind it."""
        self.rest: list[Step] = []
        """Those behind that."""

    def anew(self, base: int) -> None:
        """Go on with what stands before it: a branch, a condition."""
        self.base = self.fate = base
        self.pipe, self.is_last = COUNTS, True

    def take(self, mark: str, *, fails: bool, stops: bool) -> None:
        """Go on to what stands before a mark.

        Args:
            fails: `pipefail` is in force.
            stops: `set -e` is.
        """
        if mark == "|":
            self.pipe = self.pipe if fails else LOST
        elif mark == "||":
            excused = all(step["looks"] and not _gives_up(step) for step in self.behind)
            self.fate = LOST if excused else self.fate
        elif mark == "&":
            self.fate = LOST
        elif mark == ";" and not self.is_last:
            self.fate = self.base if stops else max(self.base, PASSED)
        if mark != "|":
            self.pipe = COUNTS
        self.rest += self.behind
        self.behind = []


def _fates(command: str, base: int) -> list[Run]:
    """From the last step to the first."""
    parts, marks = marked_parts(command)
    stack = [_Group(base)]
    found: list[Run] = []
    fails, stops = _set_at(parts, "pipefail"), _set_at(parts, "errexit")
    at = len(parts)
    piped = {count for count, mark in marks if mark == "|"}
    for count, mark in [*marks[::-1], (0, "")]:
        while at > count:
            at -= 1
            words, targets, start = parts[at]
            if words[0] in _CLOSING:
                stack.append(_Group(max(stack[-1].fate, stack[-1].pipe)))
                continue
            found += _runs(_program_of(words), targets, start, stack[-1], fed=at in piped, negated=words[0] == "!")
            for keyword in reversed(words[: _keywords(words)]):
                _enter(stack, keyword)
        if mark == ")":
            stack.append(_Group(max(stack[-1].fate, stack[-1].pipe)))
        elif mark == "(":
            _leave(stack)
        elif mark:
            stack[-1].take(mark, fails=count > fails, stops=count > stops)
    return found


def _runs(
    words: list[str], targets: list[str], start: int, group: _Group, *, fed: bool, negated: bool
) -> list[Run]:  # fmt: skip
    """The steps of a part, the last first."""
    fate = LOST if negated else max(group.fate, group.pipe)
    inner = _inner(words)
    runs: list[Run]
    if inner:
        runs = _fates(inner, fate)
    else:
        runs = [{"step": _step(words, targets, start), "fate": fate, "fed": fed}] if words else []
    group.behind += [run["step"] for run in runs]
    group.is_last = group.is_last and not runs
    return runs


def _enter(stack: list[_Group], keyword: str) -> None:
    """Go on to what stands before a word of the shell that begins a part."""
    group = stack[-1]
    if keyword in ("then", "do"):
        group.anew(LOST)  # what is asked there may fail
    elif keyword in ("else", "elif"):
        group.anew(group.whole)
    elif keyword in _ENTERING:
        _leave(stack)


def _leave(stack: list[_Group]) -> None:
    if len(stack) > 1:
        inner = stack.pop()
        stack[-1].behind += inner.behind + inner.rest
        stack[-1].is_last = False


def _shows(step: Step) -> bool:
    """Whether a failure before a step would stand in what is printed, as far as the step is concerned."""
    if "/dev/null" in step["targets"] and not step["looks"]:
        return False
    if step["program"] not in _FILTERS:
        return True
    sought = " ".join(step["words"]).lower()
    return step["program"] in _SEEKING and (" -v" in sought or "fail" in sought or "error" in sought)


def _keywords(words: list[str]) -> int:
    """So many of the first words are the shell's own."""
    count = next((at for at, word in enumerate(words) if word not in _KEYWORDS), len(words))
    return count + (words[count : count + 1] != [] and words[count] in _ENTERING)


def _set_at(parts: list[tuple[list[str], list[str], int]], option: str) -> int:
    """The number of parts up to the one that sets an option of the shell, more than there are where none does."""
    for at, (words, _, _) in enumerate(parts):
        if words[0] == "set":
            short = any(word[:1] == "-" and word[1:2] != "-" and "e" in word for word in words[1:])
            if option in words or (short and option == "errexit"):
                return at + 1
    return len(parts) + 1


def _gives_up(step: Step) -> bool:
    """Whether a step ends the line with a failure."""
    return step["program"] == "false" or (step["program"] in ("exit", "return") and step["words"][1:2] != ["0"])


def _program_of(words: list[str]) -> list[str]:
    """The words of a part from its program on; none where it runs no program."""
    while words and words[0] in _KEYWORDS:
        words = words[1:]
    if not words or words[0] in _BLOCKS:
        return []
    words = _behind_wrappers(words)
    program = words[0].rpartition("/")[2] if words else ""
    if not program or program[0] in "-+" or not _NO_PROGRAM.isdisjoint(program) or len(program.split()) > 1:
        return []
    return words


def _inner(words: list[str]) -> str:
    """The command that a shell is given with `-c`."""
    is_shell = len(words) > 2 and words[0].rpartition("/")[2] in _SHELLS
    return words[2] if is_shell and words[1].startswith("-") and words[1].endswith("c") else ""


def _step(words: list[str], targets: list[str], start: int) -> Step:
    program = words[0].rpartition("/")[2]
    verb = _verb(program, words)
    helps = "--help" in words or "--version" in words
    tries = program in _INTERPRETERS and not verb
    looks = helps or tries or program in _LOOKERS or f"{program} {verb}" in _LOOKING
    return {"program": program, "verb": verb, "looks": looks, "words": words, "targets": targets, "start": start}


def is_assignment(word: str) -> bool:
    """Whether a word sets a variable of the shell."""
    name, sign, _ = word.partition("=")
    return bool(sign) and name.removesuffix("+").partition("[")[0].isidentifier()


def _behind_wrappers(words: list[str]) -> list[str]:
    """The words from the program on that is run in the end, behind assignments, `sudo -E`, `timeout 60`."""
    at = 0
    while at < len(words):
        program = words[at].rpartition("/")[2]
        if is_assignment(words[at]):
            at += 1
            continue
        if program not in _BEFORE or (program == "command" and words[at + 1 : at + 2] in (["-v"], ["-V"])):
            return words[at:]
        valued, inner = _BEFORE[program].split(), at + 1
        while inner < len(words) and (words[inner].startswith("-") or is_assignment(words[inner])):
            inner += 2 if words[inner] in valued else 1
        inner += program == "timeout"  # how long
        if inner >= len(words):
            return words[at:]
        at = inner
    return []


def _verb(program: str, words: list[str]) -> str:
    if program not in _WITH_VERB:
        return ""
    verbs: list[str] = []
    behind_option = False
    for word in words[1 : 1 + _VERB_AMONG]:
        if behind_option or word[:1] in ("", "-", "+"):
            behind_option = not behind_option and word in _VALUED
        elif not is_assignment(word):
            if word.startswith("$") or len(word.split()) > 1:
                break
            verbs.append(word)
            if len(verbs) == 2 or word not in _RUNNERS:
                break
    return " ".join(verbs)
