"""What it costs to archive a session in which a tool returned a text that is full of what looks like secrets.

    python bench/hostile.py [--sizes 100,400,2000] [--only NAME,…] [--runs 3] [--json OUT]

Each text is the output of a call in a transcript of its own, and `joelclaw memory archive` takes it in. Its processor
time, the best of the runs, less what the same text of 1 KB takes, is quoted as MB a second. `cut` says that the archive
keeps both ends of the output alone.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import resource
import string
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

JOELCLAW = str(Path(sys.executable).parent / "joelclaw")
SIZES = "100,400,2000"
NAMES = (
    "password token secret api_key auth credential private_key pass pw session_token DB_PASSWORD clientSecret".split()
)
_LETTERS = string.ascii_letters + string.digits


def _value(draw: random.Random, least: int = 8, most: int = 40) -> str:
    return "".join(draw.choices(_LETTERS, k=draw.randint(least, most)))


def _look_alike(draw: random.Random) -> str:
    name, value = draw.choice(NAMES), _value(draw)
    value = draw.choice([value, f"your_{name}", f"${{{name.upper()}}}", f"process.env.{name}", "String"])
    return draw.choice([
        f"\x1b[31m{name}\x1b[0m=\x1b[1;32m{value}\x1b[0m ", f"{name}%22%3A%22{value}%22 ",
        f"\x1b[0mthe {name} is {value}\n", f"https://h/{value}?{name}={value}&x=1\n",
        f'"{name}": &quot;{value}&quot;,\n', f"--{name} \x1b[38;5;208m{value} ",
    ])  # fmt: skip


def _wrapped(draw: random.Random) -> str:
    value = _value(draw, 16, 48)
    plain = f"password={value}"
    return draw.choice([
        f"\x1b[3{draw.randint(1, 7)}mtoken\x1b[0m=\x1b[1m{value[:9]}\x1b[0m{value[9:]}",
        base64.b64encode(plain.encode()).decode(), quote(quote(f"{plain}&api_key={value}", safe="")),
        plain.replace("=", "\\u003d"), f"&quot;password&quot;&#58; &quot;{value}&quot;", plain.replace("s", "s\u200b"),
        plain.replace("=", "\uff1a"), f"https://u:{value}@h.example/?token={value}", f"eyJ{value}.eyJ{value}.{value}",
        f'{{\\"auth\\":\\"{value}\\",\\"key\\":\\"{{{{x}}}}\\"}}',
        f"sshpass -p '{value}' ssh h; curl -u a:{value} h; mysql -p{value}",
    ]) + draw.choice(["\n", " ", ","])  # fmt: skip


def _minified(draw: random.Random) -> str:
    return f'{{"id":{draw.randint(1, 9999)},"password":"{_value(draw)}","user":"u{draw.randint(1, 99)}"}},'


TEXTS = {
    "coloured look-alikes": _look_alike,
    "wrapped secrets": _wrapped,
    "an assignment every five": lambda draw: f"pw={draw.randint(0, 9)} ",
    "base64 wall": lambda draw: base64.b64encode(draw.randbytes(57)).decode(),
    "base64 lines": lambda draw: base64.b64encode(draw.randbytes(57)).decode() + "\n",
    "minified JSON": _minified,
    "one line of token=": lambda draw: f"token={_value(draw)}&",
    "prose": lambda draw: f"the {draw.choice(NAMES)} for h{draw.randint(1, 99)} is {_value(draw)} and ",
    "commands": lambda draw: f"curl -u a:{_value(draw)} h; mysql -p{_value(draw)} -a; redis-cli -a {_value(draw)}\n",
    "URLs and cookies": lambda draw: f"https://u:{_value(draw)}@h/?sig={_value(draw)} Cookie: sid={_value(draw)};\n",
}
"""By name, what makes a piece of it."""


def text(name: str, size: int) -> str:
    """So many characters of one of them, the same in every run."""
    draw, made, length = random.Random(name), [], 0
    while length < size:
        made.append(TEXTS[name](draw))
        length += len(made[-1])
    return "".join(made)[:size]


def transcript(output: str, prompt: str = "look at the log of the harbour build") -> str:
    """A session in which a call returned it."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat build.log"}}
    said = [
        ("user", prompt),
        ("assistant", [call]),
        ("user", [{"type": "tool_result", "tool_use_id": "t1", "content": output, "is_error": False}]),
        ("assistant", [{"type": "text", "text": "The parser of the tide tables breaks on tabs."}]),
    ]
    return "".join(
        json.dumps({
            "type": role, "uuid": f"u{number}", "sessionId": "s", "cwd": "/srv/harbour",
            "timestamp": f"2026-11-25T10:00:0{number}Z", "message": {"role": role, "content": content},
        }) + "\n"
        for number, (role, content) in enumerate(said)
    )  # fmt: skip


def _spent() -> float:
    """Seconds of processor time of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def archived(output: str, runs: int) -> tuple[float, bool]:
    """Seconds of processor time to archive it, the best of the runs, and whether it was cut."""
    best, cut = float("inf"), False
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as made:
            path = Path(made) / "s.jsonl"
            path.write_text(transcript(output), encoding="utf-8")
            environment = {**os.environ, "JOELCLAW_HOME": f"{made}/home", "HOME": made}
            began = _spent()
            words = [JOELCLAW, "memory", "archive", str(path)]
            subprocess.run(words, env=environment, check=True, capture_output=True)
            best = min(best, _spent() - began)
            told = subprocess.run(
                [JOELCLAW, "status", "--json"], env=environment, check=False, capture_output=True, text=True
            )
            cut = "OUTPUT_LEFT_OUT" in told.stdout
    return best, cut


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default=SIZES, help="in KB")
    parser.add_argument("--only", default=",".join(TEXTS), help="these texts alone")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the figures here too")
    options = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    for name in options.only.split(","):
        figures[name] = {}
        bare, _ = archived(text(name, 1000), options.runs)
        shown = ""
        for size in map(int, options.sizes.split(",")):
            took, cut = archived(text(name, size * 1000), options.runs)
            speed = figures[name][f"{size} KB"] = round(size / 1000 / max(took - bare, 0.001), 1)
            shown += f"  {size:5} KB {took - bare:5.2f} s {speed:5.1f} MB/s {'cut' if cut else '   '}"
        print(f"{name:26}{shown}", flush=True)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
