"""The steps of a shell command: which programs it runs, with which verb, and which of them only look. Hot path.

No shell: what is quoted is one word, and what a `$(…)`, a here-document or a comment holds is no step of the command.
"""

from __future__ import annotations

from core.shell_parts import parts_of

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


def steps(command: str) -> list[Step]:
    """The steps of a command in order, those of pipes, subshells, loops and `bash -c` too; takes linear time."""
    found: list[Step] = []
    for words, targets, start in parts_of(command):
        while words and words[0] in _KEYWORDS:
            words = words[1:]
        if not words or words[0] in _BLOCKS:
            continue
        words = _behind_wrappers(words)
        program = words[0].rpartition("/")[2] if words else ""
        if not program or program[0] in "-+" or not _NO_PROGRAM.isdisjoint(program) or len(program.split()) > 1:
            continue
        if program in _SHELLS and len(words) > 2 and words[1].startswith("-") and words[1].endswith("c"):
            found += [{**step, "start": start} for step in steps(words[2])]
            continue
        verb = _verb(program, words)
        helps = "--help" in words or "--version" in words
        tries = program in _INTERPRETERS and not verb
        looks = helps or tries or program in _LOOKERS or f"{program} {verb}" in _LOOKING
        found.append(
            {"program": program, "verb": verb, "looks": looks, "words": words, "targets": targets, "start": start}
        )
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
