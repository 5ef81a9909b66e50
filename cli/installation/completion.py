"""Static completion scripts for bash, zsh and fish, made from the declarations.

Static, because a shell that spawns the program at every TAB makes people wait for Typer to start. `make completions`
writes them to `completions/`, from where they are installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from cli.answer import Answer
from cli.parameter import Parameter
from cli.reference import GROUPS, every
from core.errors import usage

_MADE = "# Made from cli/*/commands.py by `make completions`: change that, not this.\n"
_JSON = Parameter("json", ("--json",), "one JSON object on stdout", kind="flag")
_HELP = Parameter("help", ("--help", "-h"), "what this command takes", kind="flag")
_VERSION = Parameter("version", ("--version",), "versions of joelclaw, Python and SQLite", kind="flag")
_COMMANDS = every()
_FLAGS = {"": [_JSON, _HELP, _VERSION], **{group: [_JSON, _HELP] for group in GROUPS}} | {
    command.path: [*(one for one in command.parameters if one.flags), _JSON, _HELP] for command in _COMMANDS
}
"""By the words so far: the flags that may follow."""
_LOOSE = {command.path: [one for one in command.parameters if not one.flags] for command in _COMMANDS}
"""By command: its positional words."""

_BASH_HEAD = """\
_joelclaw() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path="" at offered=""
  COMPREPLY=()
  # `--budget=lean` reaches us in three words.
  if [[ $word == "=" ]]; then
    word=""
  elif [[ $before == "=" ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "${COMP_WORDS[at]}" in
      -*) ;;
      *)
        path="${path:+$path }${COMP_WORDS[at]}"
        case "$path" in
          %s) ;;
          *) break ;;
        esac
        ;;
    esac
  done
  case "$path $before" in
"""
_BASH_FILES = "compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$word\")); return"
_BASH_TAIL = """\
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$word"))
}
complete -F _joelclaw joelclaw
"""
_ZSH_GROUP = """
{function}() {{
  local curcontext=$curcontext state line
  typeset -A opt_args
  local -a names
  names=(
{names}  )
  _arguments -C{flags} \\
    '1: :->name' \\
    '*:: :->rest' && return
  case $state in
    name) _describe command names ;;
    rest) (( $+functions[{function}_$line[1]] )) && {function}_$line[1] ;;
  esac
}}
"""
_ZSH_TAIL = """
if [ "$funcstack[1]" = "_joelclaw" ]; then
  _joelclaw "$@"
else
  compdef _joelclaw joelclaw
fi
"""
_FISH_HEAD = """\
function __joelclaw_at --description 'Whether the words so far name this command'
    set -l path
    for word in (commandline -opc)[2..-1]
        string match -q -- '-*' $word; and continue
        set -a path $word
        contains -- "$path" %s; or break
    end
    test "$path" = "$argv[1]"
end
complete -c joelclaw -f
"""


def _children(group: str) -> list[tuple[str, str]]:
    """Name and help of what may follow: `("write", "Store an observation …")`; groups too at the top."""
    if group:
        return [(c.path.split()[-1], c.help) for c in _COMMANDS if c.path.startswith(group + " ")]
    return [*((c.path, c.help) for c in _COMMANDS if " " not in c.path), *GROUPS.items()]


def _values(parameter: Parameter) -> str:
    return "true false" if parameter.kind == "truth" else " ".join(parameter.choices)


def bash() -> str:
    """The script for bash 3.2 and newer."""

    def offer(parameter: Parameter) -> str:
        values = _values(parameter)
        if values:
            return f'COMPREPLY=($(compgen -W "{values}" -- "$word")); return'
        return _BASH_FILES if parameter.file else "return"

    lines = ["# bash completion for joelclaw\n", _MADE, _BASH_HEAD % " | ".join(GROUPS)]
    for command in _COMMANDS:
        for parameter in _FLAGS[command.path]:
            if parameter.kind != "flag":
                where = " | ".join(f'"{command.path} {flag}"' for flag in parameter.flags)
                lines.append(f"    {where}) {offer(parameter)} ;;\n")
    lines.append('  esac\n  case "$path" in\n')
    for path, flags in _FLAGS.items():
        spellings = " ".join(flag for parameter in flags for flag in parameter.flags)
        otherwise = "".join(f"else {offer(p)}; " for p in _LOOSE.get(path, ())[:1] if p.choices or p.file)
        if path not in _LOOSE:
            otherwise = f'else offered="{" ".join(name for name, _ in _children(path))}"; '
        lines.append(f'    "{path}") if [[ $word == -* ]]; then offered="{spellings}"; {otherwise}fi ;;\n')
    return "".join([*lines, _BASH_TAIL])


def zsh() -> str:
    """The script for zsh, to be autoloaded as `_joelclaw` or sourced."""
    lines = ["#compdef joelclaw\n", _MADE]
    for group in ("", *GROUPS):
        children = [(name, about.replace(":", "\\:")) for name, about in _children(group)]
        lines.append(
            _ZSH_GROUP.format(
                function="_joelclaw" + (f"_{group}" if group else ""),
                names="".join(f"    {_zsh_quoted(f'{name}:{about}')}\n" for name, about in children),
                flags="".join(f" \\\n    {_zsh_flag(parameter)}" for parameter in _FLAGS[group]),
            )
        )
    for path, loose in _LOOSE.items():
        specs = [_zsh_flag(parameter) for parameter in _FLAGS[path]]
        for parameter in loose:
            lead = "*:" if parameter.many else ":" if parameter.required else "::"
            specs.append(_zsh_quoted(lead + _zsh_value(parameter)))
        lines.append(f"\n_joelclaw_{path.replace(' ', '_')}() {{\n  _arguments -s")
        lines.append("".join(f" \\\n    {spec}" for spec in specs) + "\n}\n")
    return "".join([*lines, _ZSH_TAIL])


def _zsh_flag(parameter: Parameter) -> str:
    takes = parameter.kind != "flag"
    about = f"[{_zsh_text(parameter.help)}]" + (f":{_zsh_value(parameter)}" if takes else "")
    forms = [flag + (("=" if flag.startswith("--") else "+") if takes else "") for flag in parameter.flags]
    if len(forms) == 1:
        return _zsh_quoted(("*" if parameter.many else "") + forms[0] + about)
    others = "*" if parameter.many else f"({' '.join(parameter.flags)})"
    return f"{_zsh_quoted(others)}{{{','.join(forms)}}}{_zsh_quoted(about)}"


def _zsh_value(parameter: Parameter) -> str:
    values = _values(parameter)
    return f"{_zsh_text(parameter.metavar)}:{f'({values})' if values else '_files' if parameter.file else ' '}"


def _zsh_text(text: str) -> str:
    for special in "\\[]:":
        text = text.replace(special, "\\" + special)
    return text


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish() -> str:
    """The script for fish 3 and newer."""
    lines = ["# fish completion for joelclaw\n", _MADE, _FISH_HEAD % " ".join(GROUPS)]
    for path, flags in _FLAGS.items():
        at = f'complete -c joelclaw -n "__joelclaw_at {_fish_quoted(path)}"'
        if path not in _LOOSE:
            lines += [f"{at} -a {name} -d {_fish_quoted(about)}\n" for name, about in _children(path)]
        for parameter in flags:
            values = _values(parameter)
            takes = f" -x -a {_fish_quoted(values)}" if values else " -r -F" if parameter.file else " -x"
            forms = "".join(f" -l {f[2:]}" if f.startswith("--") else f" -s {f[1:]}" for f in parameter.flags)
            lines.append(f"{at}{forms}{takes * (parameter.kind != 'flag')} -d {_fish_quoted(parameter.help)}\n")
        for parameter in _LOOSE.get(path, ()):
            if parameter.file:
                lines.append(f"{at} -F\n")
            elif parameter.choices:
                lines.append(f"{at} -a {_fish_quoted(_values(parameter))}\n")
    return "".join(lines)


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
FILES = {"bash": "joelclaw.bash", "zsh": "_joelclaw", "fish": "joelclaw.fish"}


def run(options: dict[str, Any]) -> Answer:
    """The script as text, so that a shell can source it: `eval "$(joelclaw completion bash)"`."""
    shell = options["shell"] or os.path.basename(os.environ.get("SHELL", ""))
    if shell not in SHELLS:
        named = f"$SHELL is {shell}, for which there is no script" if shell else "$SHELL names no shell"
        raise usage("COMPLETION_INVALID_ARGS", named, "name one: joelclaw completion bash (or zsh, or fish)")
    return Answer(None, text=SHELLS[shell]().rstrip("\n"))


if __name__ == "__main__":
    for shell, name in FILES.items():
        with open(os.path.join(sys.argv[1], name), "w", encoding="utf-8") as file:
            file.write(SHELLS[shell]())
