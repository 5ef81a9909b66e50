"""Completion scripts for bash, zsh and fish, made from the declarations."""

import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
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


def _asked(path: str, parameter: Parameter) -> str:
    """The call that prints what the store has for a parameter; "" where it has nothing to offer."""
    if parameter.kind == "flag" or parameter.choices or path.startswith("otel emit"):
        return ""
    kinds = {"session": "sessions", "project": "projects", "tag": "tags", "ids": "memories", "id": "memories"}
    if path.startswith(("session ", "checkpoint ")):
        kinds["id"] = "sessions"
    kind = kinds.get(parameter.name, "")
    return f"joelclaw completion --values {kind} 2>/dev/null" if kind else ""


def bash() -> str:
    """The script for bash 3.2 and newer."""

    def offer(path: str, parameter: Parameter) -> str:
        values, asked = _values(parameter), _asked(path, parameter)
        if asked:
            values = f"$({asked})"
        if values:
            return f'COMPREPLY=($(compgen -W "{values}" -- "$word")); return'
        return _BASH_FILES if parameter.file else "return"

    values, words = [], []
    for command in _COMMANDS:
        for parameter in _FLAGS[command.path]:
            if parameter.kind != "flag":
                where = " | ".join(f'"{command.path} {flag}"' for flag in parameter.flags)
                values.append(f"    {where}) {offer(command.path, parameter)} ;;")
    for path, flags in _FLAGS.items():
        spellings = " ".join(flag for parameter in flags for flag in parameter.flags)
        otherwise = "".join(f"else {offer(path, p)}; " for p in _LOOSE.get(path, ())[:1])
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
        children = [name + ":" + about.replace(":", "\\:") for name, about in _children(group)]
        text = about_group.replace("@function@", "_joelclaw" + (f"_{group}" if group else ""))
        text = text.replace("@names@", "\n".join(f"    {shlex.quote(child)}" for child in children))
        lines.append("\n" + text.replace("@flags@", _zsh_specs(group, _FLAGS[group])))
    for path, loose in _LOOSE.items():
        specs = _zsh_specs(path, [*_FLAGS[path], *loose])
        lines.append(f"\n_joelclaw_{path.replace(' ', '_')}() {{\n  _arguments -s{specs}\n}}\n")
    return "".join([*lines, "\n", tail])


def _zsh_specs(path: str, parameters: Sequence[Parameter]) -> str:
    specs = []
    for one in parameters:
        values, asked = _values(one), _asked(path, one)
        offered = f"({values})" if values else "_files" if one.file else " "
        if asked:
            offered = f'{{compadd - ${{(f)"$({asked})"}}}}'
        value = f"{_zsh_text(one.metavar)}:{offered}"
        for flag in one.flags:
            takes = "" if one.kind == "flag" else "=" if flag.startswith("--") else "+"
            specs.append(f"{'*' * one.many}{flag}{takes}[{_zsh_text(one.help)}]" + (takes and f":{value}"))
        if not one.flags:
            specs.append(("*:" if one.many else ":" if one.required else "::") + value)
    return "".join(f" \\\n    {shlex.quote(spec)}" for spec in specs)


def _zsh_text(text: str) -> str:
    return re.sub(r"([\\\[\]:])", r"\\\1", text)


def fish() -> str:
    """The script for fish 3 and newer."""
    lines = [_template("fish", groups=" ".join(GROUPS))]
    for path, flags in _FLAGS.items():
        at = f"complete -c joelclaw -n \"__joelclaw_at '{path}'\""
        if path not in _LOOSE:
            lines += [f"{at} -a {name} -d {shlex.quote(about)}\n" for name, about in _children(path)]
        for parameter in (*flags, *_LOOSE.get(path, ())):
            values, asked = _values(parameter), _asked(path, parameter)
            if asked:
                values = f"({asked})"
            if parameter.flags:
                takes = f" -x -a {shlex.quote(values)}" if values else " -r -F" if parameter.file else " -x"
                forms = "".join(f" -l {f[2:]}" if f.startswith("--") else f" -s {f[1:]}" for f in parameter.flags)
                told = takes * (parameter.kind != "flag") + f" -d {shlex.quote(parameter.help)}"
                lines.append(f"{at}{forms}{told}\n")
            elif values or parameter.file:
                lines.append(f"{at} {f'-a {shlex.quote(values)}' if values else '-F'}\n")
    return "".join(lines)


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
