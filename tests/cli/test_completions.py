"""Shell completion offers the right words in every shell that this machine has."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from claude_transcript import SESSION, Transcript
from conftest import JOELCLAW, PATIENCE_S, ROOT, Run, clean_environment

from cli.declarations import every_command, first_words

COMMANDS = every_command().values()
FOLDER = ROOT / "completions"
TOP = {*first_words()}
MEMORY = {command.path.split()[1] for command in COMMANDS if command.path.startswith("memory ")}
FILES = {"notes.jsonl", "notes two.jsonl"}

# The words up to the cursor; every completion that must be offered, and one that must not.
CASES = [
    ("joelclaw ", TOP, "write"),
    ("joelclaw rec", {"recall"}, "memory"),
    ("joelclaw memory ", MEMORY, "recall"),
    ("joelclaw --json memory s", {"search", "scorecard", "show", "stats", "supersede"}, "write"),
    ("joelclaw recall --b", {"--budget", "--batch"}, "--limit"),
    ("joelclaw recall why --budget ", {"auto", "lean", "balanced", "deep"}, "recall"),
    ("joelclaw recall --budget l", {"lean"}, "deep"),
    ("joelclaw otel emit x --success ", {"true", "false"}, "otel"),
    ("joelclaw completion ", {"bash", "zsh", "fish"}, "recall"),
    ("joelclaw memory import no", FILES, "other.txt"),
    ("joelclaw recall --batch no", FILES, "other.txt"),
    ("joelclaw memory write -", {"--tags", "--json", "--help"}, "--budget"),
]

BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_joelclaw
printf '%s\\n' "${COMPREPLY[@]}"
"""

# zsh completes only where it edits a line, so a second one is run on a pseudo-terminal and its offers are listened to.
ZSH_OUTER = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "source $1"
local line
repeat 50; do zpty -r shell line; [[ $line == *ready* ]] && break; done
zpty -w shell "$2"$'\\t'
while zpty -r shell line; do print -rn -- $line; done
"""
ZSH_INNER = """
PROMPT=
fpath=({folder} $fpath)
autoload -U compinit
compinit -u -D
bindkey '^M' undefined
bindkey '^J' undefined
bindkey '^I' complete-word
zstyle ':completion:*' insert-tab false
between() {{ print -r -- "<<<>>>" }}
compprefuncs=(between)
comppostfuncs=(between exit)
compadd() {{
  if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then
    builtin compadd "$@"
    return
  fi
  local -a found
  builtin compadd -A found "$@"
  print -rl -- $found
}}
print ready
"""


def in_bash(line: str, folder: Path) -> set[str]:
    words = line.split(" ")
    return set(_spawn(["bash", "--norc", "-c", BASH, "bash", str(FOLDER / "joelclaw.bash"), *words], folder))


def in_zsh(line: str, folder: Path) -> set[str]:
    inner = folder.parent / "inner.zsh"
    inner.write_text(ZSH_INNER.format(folder=FOLDER))
    outer = folder.parent / "outer.zsh"
    outer.write_text(ZSH_OUTER)
    screen = "\n".join(_spawn(["zsh", "-f", str(outer), str(inner), line], folder))
    return {offer for offer in screen.split("<<<>>>")[1].split("\n") if offer}


def in_fish(line: str, folder: Path) -> set[str]:
    script = f"source {FOLDER / 'joelclaw.fish'}; complete -C '{line}'"
    return {offer.split("\t")[0] for offer in _spawn(["fish", "--no-config", "-c", script], folder)}


def _spawn(words: list[str], folder: Path) -> list[str]:
    path = f"{Path(JOELCLAW).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "HOME": str(folder.parent), "TERM": "xterm", "LC_ALL": "C.UTF-8", "PATH": path}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
    return [line.rstrip("\r") for line in done.stdout.split("\n")]


SHELLS = {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("line", "offered", "not_offered"), CASES, ids=[case[0] for case in CASES])
def test_the_shell_completes_words_and_flags(
    shell: str, line: str, offered: set[str], not_offered: str, tmp_path: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    folder = tmp_path / "work"
    folder.mkdir()
    for name in (*FILES, "other.txt"):
        (folder / name).touch()
    offers = {offer.replace("\\ ", " ") for offer in SHELLS[shell](line, folder)}
    assert offered <= offers, offers
    assert not_offered not in offers


KEPT = [
    ("joelclaw recall x --project ", "buoyline"), ("joelclaw memory list --tag ", "harbour"),
    ("joelclaw memory edit ", "a-memory"), ("joelclaw recall x --session ", SESSION[:8]),
    ("joelclaw session show ", SESSION[:8]), ("joelclaw session list --client ", "claude"),
]  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS)
def test_stored_values_are_completed(shell: str, tmp_path: Path, home: Path, run: Run, monkeypatch: Any) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    tags = ["harbour", "$(touch evil)"]
    note = {"id": "a-memory", "text": "the lease is renewed", "tags": tags, "project": "buoyline"}
    run("memory", "import", "-", stdin=json.dumps(note) + "\n")
    Transcript(tmp_path / f"{SESSION}.jsonl").user("renew the lease")
    run("memory", "archive", str(tmp_path / f"{SESSION}.jsonl"))
    for name, value in clean_environment(home).items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "work"
    folder.mkdir()
    for line, expected in KEPT:
        offers = SHELLS[shell](line, folder)
        assert expected in offers, (line, offers)
    assert not list(folder.iterdir()), "a tag is no command"


def test_every_flag_of_every_command_is_completed(run: Run) -> None:
    for command in COMMANDS:
        words = [f"--offer={word}" for word in (*command.path.split(), "-")]
        offered = {line.partition("\t")[0] for line in run("completion", *words).out.splitlines()}
        assert offered >= {flag for parameter in command.parameters for flag in parameter.flags}, command.path


def test_a_flag_before_the_name_hides_no_command(run: Run) -> None:
    for before in (["memory", "--json"], ["--json", "memory"]):
        rows = run("completion", *(f"--offer={word}" for word in (*before, "l"))).out.splitlines()
        assert [row.partition("\t")[0] for row in rows] == ["list"]


def test_bash_completes_after_an_equals_sign(tmp_path: Path) -> None:
    # readline hands over `--budget=l` in three words
    words = ["bash", str(FOLDER / "joelclaw.bash"), "joelclaw", "recall", "--budget", "=", "l"]
    assert "lean" in _spawn(["bash", "--norc", "-c", BASH, *words], tmp_path)


def offers(run: Run, line: str) -> list[str]:
    return run("completion", *(f"--offer={word}" for word in line.split(" "))).out.splitlines()


@pytest.mark.parametrize(("line", "offered"), [
    ("otel list --component ", "harbour"), ("otel search --component otel-cli,", "otel-cli,harbour"),
    ("otel list --action a.b,lease.", "a.b,lease.renewed"), ("otel list --action=a.b,", "--action=a.b,lease.renewed"),
    ("otel stats --source ", "pump"), ("otel list --level error,", "error,fatal"),
    ("recall x --category ", "operations"), ("hook ", "gemini"),
    *((line, f"{line.rpartition(' ')[2]}{name}") for name in ("script-9", SESSION[:8]) for line in (
        "o11y session ", "session show ", "lost ", "checkpoint show ", "idle schedule --session ",
        "otel list --session ", "inject recovery --session=", "recall x --session ")),
])  # fmt: skip
def test_values_in_the_store_and_sessions_that_are_not_are_offered(
    run: Run, tmp_path: Path, line: str, offered: str
) -> None:
    run("otel", "emit", "lease.renewed", "--component", "harbour", "--source", "pump")
    run("memory", "write", "the lease is renewed at noon", "--category", "ops")
    run("checkpoint", "save", "--session", "script-9")
    Transcript(tmp_path / f"{SESSION}.jsonl").user("renew the lease")
    run("memory", "archive", str(tmp_path / f"{SESSION}.jsonl"))
    assert offered in offers(run, line)
