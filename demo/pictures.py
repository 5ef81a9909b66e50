"""`make pictures`: what commands print on a terminal, as SVG files for the README.

Each command runs on a pseudo-terminal in a throwaway home that holds the demo's recorded session, at a fixed time. The
files load nothing from anywhere: a reader's own monospaced font is used.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import tempfile
from io import StringIO
from pathlib import Path

from replay import FOLDER, JOELCLAW
from rich.console import Console
from rich.text import Text

WIDTH = 100
NOW_MS = "1795300000000"
OUT = FOLDER.parent / "docs" / "pictures"
FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
# Run first, and not shown.
BEFORE = (("memory", "archive", str(FOLDER / "pi-session.jsonl"), "--agent", "pi"),)
PICTURES = {"recall": ("recall", "why do the stale-buoy mails repeat", "--limit", "2")}


def on_terminal(words: tuple[str, ...], environment: dict[str, str]) -> str:
    """What the command prints where stdout is a terminal."""
    ours, theirs = pty.openpty()
    home = environment["JOELCLAW_HOME"]
    process = subprocess.Popen(
        [JOELCLAW, *words], cwd=home, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    printed = b""
    while True:
        try:
            data = os.read(ours, 65_536)
        except OSError:  # Linux's way to say that the other end is closed
            break
        if not data:
            break
        printed += data
    os.close(ours)
    if process.wait():
        raise SystemExit(f"joelclaw {' '.join(words)}\n{printed.decode()}")
    return printed.decode().replace("\r\n", "\n")


def drawn(words: tuple[str, ...], printed: str) -> str:
    """The command and what it printed, as SVG."""
    screen = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    line = " ".join(f'"{word}"' if " " in word else word for word in words)
    screen.print(Text(f"$ joelclaw {line}", style="bold"))
    screen.print(Text.from_ansi(printed.rstrip("\n")))
    return FONT.sub("", screen.export_svg(title="joelclaw", unique_id=words[0]))


def main() -> None:
    """Draw every picture anew."""
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith("JOELCLAW") and name != "NO_COLOR"
            },
            "JOELCLAW_HOME": home,
            "JOELCLAW_NOW_MS": NOW_MS,
            "COLUMNS": str(WIDTH),
            "TERM": "xterm-256color",
            "PATH": f"{Path(JOELCLAW).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        }
        for words in BEFORE:
            subprocess.run([JOELCLAW, *words], cwd=home, env=environment, check=True, stdout=subprocess.DEVNULL)
        for name, words in PICTURES.items():
            (OUT / f"{name}.svg").write_text(drawn(words, on_terminal(words, environment)), encoding="utf-8")
            print(OUT / f"{name}.svg")


if __name__ == "__main__":
    main()
