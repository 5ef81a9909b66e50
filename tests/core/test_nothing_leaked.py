"""After every secret went through every command, no file of the home holds one (issue 2, "Nothing leaked").

The bytes are searched, not what a command says of them: store, log, indexes, session files, caches, locks, names.
"""

import base64
import json
import os
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import apsw
from claude_transcript import Transcript
from conftest import NOW_MS, PATIENCE_S, attempt
from secret_samples import POSITIVE

PIECE = 12
"""A run of this many characters of a secret is a leak."""
_START = 6
FEW = tuple(POSITIVE[::9])
"""Where a process takes one text: every ninth secret, which is one of each family."""


def pieces(secret: str) -> Iterator[bytes]:
    """What must not occur: windows over the secret, as it stands and in the forms that it is stored or sent in."""
    size = min(PIECE, len(secret))
    step = max(1, size // 3)
    windows = {secret[at : at + size] for at in range(0, len(secret) - size + 1, step)} | {secret[-size:]}
    for window in windows:
        if len(set(window)) < 5 or "PRIVATE" in window or "-----" in window:
            continue  # a run of one character, or the frame of a key, which is no secret
        yield window.encode()
        yield json.dumps(window)[1:-1].encode()
        yield window.encode("utf-16-le")
        yield urllib.parse.quote(window, safe="").encode()
        yield window.lower().encode()
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + secret.encode())
        yield encoded[4 + (4 if shift else 0) : -4][:24] or encoded


def contents(home: Path) -> bytes:
    """All bytes below the home, and the names of its files."""
    parts = [b""]
    for folder, folders, names in os.walk(home):
        parts += [name.encode() for name in (*folders, *names)]
        parts += [Path(folder, name).read_bytes() for name in names]
    return b"\n".join(parts)


def decoded_rows(home: Path) -> bytes:
    """Every text that the store holds, put together from its pages: a long one lies in pieces on the disk."""
    path = home / "store.db"
    if not path.exists():
        return b""
    db = apsw.Connection(str(path))
    parts = []
    for (table,) in db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    ).fetchall():
        for row in db.execute(f'SELECT * FROM "{table}"'):
            parts += [
                value.encode() if isinstance(value, str) else value for value in row if isinstance(value, (str, bytes))
            ]
    db.close()
    return b"\n".join(parts)


def leaks(home: Path) -> list[str]:
    """The names of the secrets of which something is there."""
    data = contents(home) + decoded_rows(home)
    starts = {data[at : at + _START] for at in range(len(data))}  # searching for each piece by itself takes minutes
    return [
        sample.name
        for sample in POSITIVE
        if any(piece[:_START] in starts and piece in data for piece in pieces(sample.secret) if len(piece) >= _START)
    ]


def test_import_of_every_secret_in_every_field(home: Path) -> None:
    lines = []
    for number, sample in enumerate(POSITIVE):
        both = {"at": NOW_MS, "source": sample.text, "text": f"history {number}: {sample.text}"}
        lines += [
            {"id": f"text{number}", "text": f"note {number}: {sample.text}"},
            {"id": f"episode{number}", "collection": "episodes", "text": sample.text, "context": sample.text},
            {
                "id": f"knowledge{number}", "collection": "knowledge", "text": f"file {number} of the vault",
                "title": sample.text, "path": f"docs/{sample.text}.md", "context": sample.text,
            },
            {
                "id": f"fields{number}", "text": f"memory {number} of the vault says little", "source": sample.text,
                "session": sample.text, "project": sample.text, "tags": [sample.text, "kept"], "category": sample.text,
                "type": sample.text, "privacy": sample.text, "reason": sample.text, "history": [both],
                "superseded_by": sample.text, "supersedes": sample.text, "gate_version": sample.text,
                "category_source": sample.text,
            },
            {"id": sample.text[:200], "text": f"memory with a strange id, number {number}"},
            {"id": f"gate{number}", "text": f"[gate=allow confidence=.8 reason={sample.text}] fact {number} holds"},
            {"id": f"unknown{number}", "text": f"memory {number} with unknown keys",
            sample.text: sample.text, "x": sample.text},
            {"id": f"bad{number}", "text": 7, "session": sample.text},
        ]  # fmt: skip
    data = "\n".join(json.dumps(line) for line in lines).encode() + b'\n{"text": "' + POSITIVE[0].text.encode()
    done = attempt(home, "memory", "import", "-", stdin=data, timeout=PATIENCE_S)
    report = done.envelope["result"]
    assert (done.code, report["added"]) == (1, 7 * len(POSITIVE)), report["errors"][:3]
    assert leaks(home) == []
    # What is printed of bad lines holds none of it either, and the export cannot.
    printed = done.out.encode() + attempt(home, "memory", "export").out.encode()
    assert [sample.name for sample in POSITIVE if sample.secret.encode() in printed] == []
    # Again, as changes of what is there.
    changed = [
        {**line, "text": f"{line['text']} (changed)", "title": line.get("source", "")}
        for line in lines
        if line.get("text") != 7
    ]
    again = "\n".join(map(json.dumps, changed)).encode()
    done = attempt(home, "memory", "import", "-", stdin=again, timeout=PATIENCE_S)
    assert done.code == 0 and "this key is unknown" in done.err
    assert [sample.name for sample in POSITIVE if sample.secret in done.out + done.err] == []
    assert leaks(home) == []


def test_events_with_every_secret_everywhere(home: Path) -> None:
    nested = {sample.name: {"deep": [{"er": sample.text}], "n": 1} for sample in POSITIVE}
    keys = {sample.text: sample.name for sample in POSITIVE}
    texts = [sample.text for sample in POSITIVE]
    for metadata in (nested, keys, {"all": "\n".join(texts)}, {"list": texts}):
        event = {"action": "leak.test", "metadata": metadata, "error": "; ".join(texts[:20]), "success": False}
        result = attempt(home, "otel", "emit", "--stdin", stdin=json.dumps(event).encode()).result
        assert result["response"]["result"]["stored"] is True
        assert [sample.name for sample in POSITIVE if sample.secret in json.dumps(result)] == []
    for sample in FEW:
        attempt(
            home, "otel", "emit", sample.text, "--source", sample.text, "--component", sample.text, "--error",
            sample.text,
            "--session", sample.text, "--id", sample.text, "--metadata", json.dumps({sample.text: [sample.text]}),
            env={"JOELCLAW_SYSTEM_ID": sample.text},
        ).assert_done()  # fmt: skip
    assert leaks(home) == []


def test_memory_write_with_secrets_in_every_option(home: Path) -> None:
    for number, sample in enumerate(FEW):
        done = attempt(
            home, "memory", "write", f"deploy note {number}: {sample.text}", "--tags", f"{sample.text},kept",
            "--source", sample.text,
            "--session", sample.text, "--project", sample.text, "--category", sample.text,
        )  # fmt: skip
        done.assert_done()
        assert sample.secret not in done.out and done.result["redacted"]
    for start in range(0, len(POSITIVE), 40):
        text = "\n".join(sample.text for sample in POSITIVE[start : start + 40])
        attempt(home, "memory", "write", "-", stdin=text.encode()).assert_done()
    # A near duplicate goes to the history of the older one.
    for _ in range(2):
        attempt(home, "memory", "write", f"The staging login is as follows. {FEW[-1].text}").assert_done()
    assert leaks(home) == []


def test_no_secret_of_a_session_reaches_the_disk(home: Path) -> None:
    texts = [sample.text for sample in POSITIVE]
    for start in range(0, len(texts), 6):
        turn = {
            "session": "leaky", "percent": 65 + start % 20, "messages": texts[start : start + 6],
            "files": [f"src/{text}" for text in texts[start : start + 6]], "role": texts[start],
        }  # fmt: skip
        attempt(home, "checkpoint", "save", "--stdin", stdin=json.dumps(turn).encode()).assert_done()
    for sample in FEW:
        words = ("--session", sample.text)
        attempt(
            home, "checkpoint", "save", *words, "--percent", "70", "--message", sample.text, "--file", sample.text,
            "--role", sample.text,
        ).assert_done()  # fmt: skip
    last = ("--session", FEW[0].text)
    attempt(home, "checkpoint", "flush", *last, "--role", FEW[1].text).assert_done()
    attempt(home, "inject", "recovery", *last, "--role", FEW[1].text).assert_done()
    attempt(home, "inject", "memory", *last, "--query", FEW[2].text, "--project", FEW[3].text).assert_done()
    attempt(home, "inject", "recovery", "--session", "leaky").assert_done()
    attempt(home, "checkpoint", "show", last[1]).assert_done()
    assert leaks(home) == []


def test_queries_with_secrets(home: Path) -> None:
    attempt(home, "memory", "write", "The password of the staging database is in the vault").assert_done()
    # One query a line: a secret of several lines is several queries, none of which is known for what it is.
    queries = "\n".join(sample.text for sample in POSITIVE if "\n" not in sample.text)
    assert attempt(home, "recall", "--batch", "-", stdin=queries.encode(), timeout=PATIENCE_S).code == 0
    assert leaks(home) == []
    for sample in FEW:
        done = attempt(
            home, "recall", sample.text, "--session", sample.text, "--project", sample.text, "--category", sample.text
        )
        done.assert_done()
        attempt(home, "memory", "search", "--", sample.text).assert_done()
        attempt(home, "otel", "search", "--", sample.text).assert_done()
        # Half of a secret, as the cut of a query at 200 characters makes it.
        for lead in (185, 192) if sample in FEW[:5] else ():
            attempt(home, "recall", "x" * 8 + " why" * ((lead - 8) // 4) + " " + sample.text).assert_done()
    assert leaks(home) == []


def test_a_secret_in_the_name_of_a_folder(home: Path, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    folder = tmp_path / f"tides-{token}"
    folder.mkdir()
    transcript = Transcript(tmp_path / "s1.jsonl", cwd=str(folder))
    transcript.user("mend the gauge of Husum")
    transcript.assistant("The gauge is mended.")
    answers = []
    for event in ("UserPromptSubmit", "Stop", "PreCompact", "SessionStart"):
        about = {"session_id": "s1", "transcript_path": str(transcript.path), "cwd": str(folder), "source": "compact"}
        payload = {**about, "hook_event_name": event, "prompt": "mend the gauge of Husum", "trigger": "auto"}
        answers.append(attempt(home, "hook", "claude", stdin=json.dumps(payload).encode()).out)
    assert attempt(home, "recall", "gauge of Husum", cwd=folder).result["hits"]
    assert "gauge of Husum" in answers[-1]
    assert token.encode() not in contents(home) + decoded_rows(home) + "".join(answers).encode()


def test_failures_are_reported_without_the_secret(home: Path) -> None:
    """What goes wrong becomes an event, and its message may quote what was given."""
    home.mkdir(mode=0o700)
    for sample in FEW[:8]:
        attempt(home, "recall", "x", "--collection", sample.text)
        attempt(home, "memory", "show", sample.text)
        attempt(home, "checkpoint", "show", sample.text)
        attempt(home, "memory", "import", sample.text)
        attempt(home, "otel", "emit", "a.b", "--metadata", f"{{{sample.text}")
    assert leaks(home) == []
