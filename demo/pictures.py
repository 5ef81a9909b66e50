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


def on_terminal(words: tuple[str, ...]) -> str:
    """What the command prints where stdout is a terminal."""
    printed = bytearray()

    def read(terminal: int) -> bytes:
        data = os.read(terminal, 65_536)
        printed.extend(data)
        return data

    if pty.spawn([JOELCLAW, *words], read):
        raise SystemExit(f"joelclaw {' '.join(words)} failed")
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
        for name in [name for name in os.environ if name.startswith("JOELCLAW")]:
            del os.environ[name]
        os.environ.pop("NO_COLOR", None)
        path = f"{Path(JOELCLAW).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        os.environ.update(
            JOELCLAW_HOME=home, JOELCLAW_NOW_MS=NOW_MS, COLUMNS=str(WIDTH), TERM="xterm-256color", PATH=path
        )
        os.chdir(home)
        for words in BEFORE:
            subprocess.run([JOELCLAW, *words], check=True, stdout=subprocess.DEVNULL)
        for name, words in PICTURES.items():
            (OUT / f"{name}.svg").write_text(drawn(words, on_terminal(words)), encoding="utf-8")
            print(OUT / f"{name}.svg")


if __name__ == "__main__":
    main()
