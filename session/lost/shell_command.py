"""A command of a shell: which parts of it may be wanted again, and what two runs of it have in common."""

from __future__ import annotations

import re

RUN_WEIGHT, CHECK_WEIGHT = 1.0, 4.0
LONGEST_COMMAND = 200
"""A longer one is a script that somebody wrote for one look."""
# What looks around, and what is done once: nobody wants to run it again as it stands.
_LOOKS = frozenset(
    "awk basename bat cat cd column command cut diff dirname du echo env exit export false fd file find grep head jq ls"
    " nl printf pwd read realpath rg sed sleep sort stat tail test tmux tree true type uniq wc which xargs".split()
)
_ONCE = frozenset("chmod cp kill killall ln mkdir mv pkill rm rmdir set tee touch unlink unset wait".split())
_ONCE_VERBS = frozenset(
    "add append apply close comment commit config create delete dismiss edit link login merge post publish push release"
    " remove rename reopen reply unlink update upgrade".split()
)
_ONCE_FLAGS = frozenset("-X --method --field --raw-field --body --body-file --help -h --version".split())
_FORM = re.compile(r" (?:--jq|-q|--json|--format|--template)[ =]")
_SENDS = frozenset("-f -F -d --data".split())
_SENDERS = ("gh", "curl")
_CHECKS = ("test", "lint", "check", "build", "fmt", "format", "vet", "tsc", "pytest", "make", "verify", "bench", "e2e")
_AD_HOC = frozenset("-c -e --eval".split())
_PROGRAM = re.compile(r"[\w.+-]*\w[\w.+-]*")
_GIT_LOOKS = frozenset("blame branch config diff fetch log ls-files remote rev-parse show status tag".split())
_PIECE = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|(&&|\|\||[;|\n])|[^'"&|;\n]+|.""", re.S)
_ASSIGNED = re.compile(r"\w+=(?!\$\()")  # what `$(…)` is assigned from is looked up, not done
_WORDS_BEFORE = frozenset("do then else ! { ( time nohup sudo env exec".split())
_BLOCKS = frozenset("for while until if elif case done fi esac } )".split())


def is_worth_running(command: str) -> bool:
    """Whether a command may be wanted again as it stands."""
    if len(command) > LONGEST_COMMAND or "\n" in command or "<<" in command or not _AD_HOC.isdisjoint(command.split()):
        return False
    return any(steps(command).values())


def steps(command: str) -> dict[str, bool]:
    """The commands in a line of a shell, without those that look around, and whether each may be wanted again."""
    parts = [""]
    for piece in _PIECE.finditer(command.partition("<<")[0].replace("2>&1", " ")):
        if piece[1]:
            parts.append("")
        else:
            parts[-1] += piece[0]
    found: dict[str, bool] = {}
    for part in parts:
        said = part.split()
        while said and (said[0] in _WORDS_BEFORE or _ASSIGNED.match(said[0])):
            said = said[1:]
        if not said or said[0] in _BLOCKS or "=" in said[0]:
            continue
        program = said[0].rpartition("/")[2]
        said = said[:1] + said[3:] if said[1:2] == ["-C"] else said  # git and make: in that folder
        verb = next((word for word in said[1:] if not word.startswith("-")), "")
        if not _PROGRAM.fullmatch(program) or program in _LOOKS or "json.tool" in said:
            continue
        if program == "git":
            if verb not in _GIT_LOOKS:
                found[f"git {verb}"] = False
            continue
        once = program in _ONCE or not _ONCE_VERBS.isdisjoint(said[1:4]) or not _ONCE_FLAGS.isdisjoint(said)
        found[" ".join(said)] = not once and not (program in _SENDERS and not _SENDS.isdisjoint(said))
    return found


def key_of(command: str) -> str:
    """What two runs of a command have in common, whatever part of the output was wanted."""
    return " && ".join(_FORM.split(step)[0] for step in steps(command))


def worth_of(command: str) -> float:
    """How much a run of a command counts: most, where it checks the work."""
    checks = any(word.rpartition("/")[2].startswith(_CHECKS) for word in command.split())
    return CHECK_WEIGHT if checks else RUN_WEIGHT
