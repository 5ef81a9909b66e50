"""Prints which packages of `pyproject.toml` the demo and a first look at the command need, as pip takes them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

NEEDED = {"apsw", "sqlite-vec", "typer", "rich", "orjson", "tomlkit"}

if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [line for line in project["dependencies"] if re.match(r"[\w-]+", line)[0] in NEEDED]  # type: ignore[index]
    print("\n".join(wanted))
