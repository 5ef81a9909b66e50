"""What the declarations in `cli/commands/` share: a Typer whose commands take text with dashes, and common options."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from cli.parser import is_text

Function = TypeVar("Function", bound=Callable[..., Any])


class TextCommand(TyperCommand):
    """A command that takes text with dashes: `note "- take care"`.

    Click offers `ignore_unknown_options` for that, but then a mistyped option becomes part of the text.
    """

    has_shell_text = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move texts behind all options, after `--` if one of them begins with a dash."""
        taking = {flag for one in self.params if not getattr(one, "is_flag", False) for flag in one.opts}
        truths = {flag for one in self.params if one.metavar == "true|false" for flag in one.opts}
        own = {flag for one in self.params for flag in one.opts} if self.has_shell_text else None
        texts: list[str] = []
        options: list[str] = []
        words = list(args)
        while words:
            word = words.pop(0)
            if word == "--":
                texts += words
                break
            if is_text(word, texts, own):
                texts.append(word)
                continue
            options.append(word)
            if word in truths and (not words or words[0][:1] == "-"):
                options.append("true")
            elif word in taking and words:
                options.append(words.pop(0))
        if any(text[:1] == "-" for text in texts):
            return super().parse_args(ctx, [*options, "--", *texts])
        return super().parse_args(ctx, [*texts, *options])  # a last option without a value must not take a text


class ShellCommand(TextCommand):
    """A command whose text is a shell command with options of its own: `how git add -p`."""

    has_shell_text = True


class Commands(typer.Typer):
    """A Typer app whose commands are `TextCommand`s."""

    def __init__(self, help: str | None = None) -> None:
        super().__init__(help=help, add_completion=False)

    def command(self, name: str | None = None, **more: Any) -> Callable[[Function], Function]:
        """Declare a command, as `typer.Typer.command` does."""
        return super().command(name, **{"cls": TextCommand, **more})


def true_or_false(text: str) -> bool:
    """The value of an option such as `--success true`."""
    if text.lower() not in ("true", "1", "yes", "on", "false", "0", "no", "off"):
        raise typer.BadParameter("give true or false")
    return text.lower() in ("true", "1", "yes", "on")


class OneOf:
    """Converts a word that must be one of some values: for lists, and for values that are known only at run time."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices
        self.metavar = "|".join(choices)

    def __call__(self, text: str) -> str:
        """The word itself."""
        if text not in self.choices:
            raise typer.BadParameter(f"give one of {', '.join(self.choices)}")
        return text


Query = Annotated[list[str] | None, typer.Argument(metavar="QUERY", help="What to look for")]
RequiredQuery = Annotated[list[str], typer.Argument(metavar="QUERY", help="What to look for")]
Hits = Annotated[int | None, typer.Option("--limit", "-n", min=1, max=100, help="Most hits (default: recall.limit)")]
Raw = Annotated[bool, typer.Option("--raw", help="Print only the text, no JSON")]
Verbatim = Annotated[
    bool, typer.Option("--verbatim", help="Print only the text, exactly as stored; refused on a terminal")
]
Hours = Annotated[float, typer.Option("--hours", min=0, max=876_000, help="How far back, in hours")]
Session = Annotated[str | None, typer.Option("--session", metavar="ID", help="Session id")]
Percent = Annotated[
    float | None, typer.Option("--percent", min=0, max=1000, metavar="P", help="Context usage, 0 to 100")
]
Project = Annotated[str | None, typer.Option("--project", help="Only this project")]
