"""Static completion scripts for bash, zsh and fish, made from the declarations.

Static, because a shell that spawns the program at every TAB makes people wait for Typer to start. `make completions`
writes them to `completions/`, from where they are installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import resources
from typing import Any

from cli.answer import Answer
from cli.parameter import Parameter
from cli.reference import GROUPS, every
from core.errors import usage

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

_BASH_FILES = "compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$word\")); return"


def _template(shell: str, **parts: str) -> str:
    """The script beside this module, with what is made in the place of each `@name@`."""
    text = (resources.files("cli.installation") / f"completion.{shell}").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


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

    values, words = [], []
    for command in _COMMANDS:
        for parameter in _FLAGS[command.path]:
            if parameter.kind != "flag":
                where = " | ".join(f'"{command.path} {flag}"' for flag in parameter.flags)
                values.append(f"    {where}) {offer(parameter)} ;;")
    for path, flags in _FLAGS.items():
        spellings = " ".join(flag for parameter in flags for flag in parameter.flags)
        otherwise = "".join(f"else {offer(p)}; " for p in _LOOSE.get(path, ())[:1] if p.choices or p.file)
        if path not in _LOOSE:
            otherwise = f'else offered="{" ".join(name for name, _ in _children(path))}"; '
        words.append(f'    "{path}") if [[ $word == -* ]]; then offered="{spellings}"; {otherwise}fi ;;')
    return _template("bash", groups=" | ".join(GROUPS), values="\n".join(values), words="\n".join(words))


def zsh() -> str:
    """The script for zsh, to be autoloaded as `_joelclaw` or sourced."""
    head, _, rest = _template("zsh").partition("#@group\n")
    about_group, _, tail = rest.partition("#@tail\n")
    lines = [head]
    for group in ("", *GROUPS):
        children = [(name, about.replace(":", "\\:")) for name, about in _children(group)]
        names = "\n".join(f"    {_zsh_quoted(f'{name}:{about}')}" for name, about in children)
        flags = "".join(f" \\\n    {_zsh_flag(parameter)}" for parameter in _FLAGS[group])
        function = "_joelclaw" + (f"_{group}" if group else "")
        lines.append(
            "\n" + about_group.replace("@function@", function).replace("@names@", names).replace("@flags@", flags)
        )
    for path, loose in _LOOSE.items():
        specs = [_zsh_flag(parameter) for parameter in _FLAGS[path]]
        for parameter in loose:
            lead = "*:" if parameter.many else ":" if parameter.required else "::"
            specs.append(_zsh_quoted(lead + _zsh_value(parameter)))
        lines.append(f"\n_joelclaw_{path.replace(' ', '_')}() {{\n  _arguments -s")
        lines.append("".join(f" \\\n    {spec}" for spec in specs) + "\n}\n")
    return "".join([*lines, "\n", tail])


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
    lines = [_template("fish", groups=" ".join(GROUPS))]
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
