"""A hook archives only the ends of the texts in a very long line, which could take longer than it has."""

from __future__ import annotations

import base64
import json
import random
import string
from pathlib import Path
from typing import Any
from urllib.parse import quote

from conftest import Run
from faults import patient

LOG = "first line of the log\n" + "SLOW OUTPUT \x1b[31mtoken=\x1b[0m\n" * 24_000 + "harbour.py:31: the last line"


def lines(folder: Path, *outputs: str) -> list[dict[str, object]]:
    """A session in which one line has what a call, or calls side by side, returned."""
    calls = [
        {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": "cat build.log"}}
        for n in range(len(outputs))
    ]
    results = [
        {"type": "tool_result", "tool_use_id": f"t{n}", "content": one, "is_error": False}
        for n, one in enumerate(outputs)
    ]
    said = [
        ("user", "look at the log of the harbour build"),
        ("assistant", calls),
        ("user", results),
        ("assistant", [{"type": "text", "text": "The parser of the tide tables breaks on tabs."}]),
    ]
    return [
        {"type": role, "uuid": f"u{number}", "sessionId": "s", "cwd": str(folder),
         "timestamp": f"2026-11-25T10:00:0{number}Z", "message": {"role": role, "content": content}}
        for number, (role, content) in enumerate(said)
    ]  # fmt: skip


def archive(run: Run, tmp_path: Path, *outputs: str) -> None:
    """Run the hook at the end of a turn in a session with these outputs."""
    transcript = tmp_path / "s.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines(tmp_path, *outputs)), encoding="utf-8")
    event = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(transcript), "cwd": str(tmp_path)}
    assert run("hook", "claude", stdin=json.dumps(event), env=patient(tmp_path / "home")).code == 0


def hostile(size: int, seed: int = 5) -> str:
    """What a redaction has to look at closely: coloured, encoded, quoted and wrapped look-alikes of secrets."""
    draw, made, length = random.Random(seed), [], 0
    while length < size:
        value = "".join(draw.choices(string.ascii_letters + string.digits, k=draw.randint(16, 48)))
        plain = f"password={value}"
        form: Any = draw.choice([
            f"\x1b[3{draw.randint(1, 7)}mtoken\x1b[0m=\x1b[1m{value[:9]}\x1b[0m{value[9:]}",
            base64.b64encode(plain.encode()).decode(), quote(quote(f"{plain}&api_key={value}", safe="")),
            plain.replace("=", "\\u003d"), f"&quot;password&quot;&#58; &quot;{value}&quot;",
            plain.replace("s", "s\u200b"), plain.replace("=", "\uff1a"), f"https://u:{value}@h.example/?token={value}",
            f"eyJ{value}.eyJ{value}.{value}", f'{{\\"auth\\":\\"{value}\\",\\"key\\":\\"{{{{x}}}}\\"}}',
            f"sshpass -p '{value}' ssh h; curl -u a:{value} h; mysql -p{value}",
            "".join(f"\\x{ord(char):02x}" for char in plain),
        ])  # fmt: skip
        made.append(form + draw.choice(["\n", " ", ",", "\\n"]))
        length += len(made[-1])
    return "".join(made)[:size]


def test_both_ends_of_a_long_output_are_archived_without_half_a_secret(run: Run, home: Path, tmp_path: Path) -> None:
    behind = "Tr0ub4dorQuay harbour_quay.py:31: the gate stuck\n" + "harbour_gate.py:31: the gate was shut\n" * 99
    archive(run, tmp_path, LOG + "\nPASSWORD=" + behind[:2_000])
    kept = "".join(path.read_bytes().decode("latin-1") for path in home.glob("store.db*"))
    assert "harbour_gate.py" in kept and "Tr0ub4dorQuay" not in kept


def test_hostile_outputs_stop_no_session(run: Run, home: Path, tmp_path: Path) -> None:
    archive(run, tmp_path, *(hostile(420_000, seed) for seed in range(6)))
    assert run("recall", "tide tables break on tabs").json["result"]["hits"]
