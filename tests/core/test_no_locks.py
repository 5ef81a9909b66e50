"""Locks that do not work are reported as such, never as another process."""

import json
from pathlib import Path

import pytest
from conftest import attempt

# A file system without locks: Python's, and those that SQLite takes.
_REFUSED = """\
import sys
if any(word.endswith("joelclaw") for word in sys.orig_argv[:2]):
    import ctypes, errno, fcntl, os
    code = getattr(errno, os.environ["NO_LOCKS"])
    def refused(*_):
        raise OSError(code, os.strerror(code))
    fcntl.flock = refused
    if os.environ["NO_LOCKS_BY"] == "fcntl":
        import apsw
        libc = ctypes.CDLL(None, use_errno=True)
        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, use_errno=True)
        def refusing(descriptor, command, about):
            if command in (fcntl.F_SETLK, fcntl.F_SETLKW):
                ctypes.set_errno(code)
                return -1
            return libc.fcntl(descriptor, command, ctypes.c_void_p(about))
        sys.refusing = refusing, apsw.VFS("through", "unix")
        sys.refusing[1].xSetSystemCall("fcntl", ctypes.cast(refusing, ctypes.c_void_p).value)
"""
STORE = (("memory", "write", "another thing"), ("recall", "thing", "--json"), ("otel", "list"))
STATE = (("checkpoint", "save", "--session", "s", "--percent", "70", "-m", "mend the gauge"),)


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "refused"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_REFUSED)
    return {"PYTHONPATH": str(folder), "JOELCLAW_STORE_BUSY_MS": "20"}


@pytest.mark.parametrize("error", ["ENOLCK", "ENOTSUP"])
@pytest.mark.parametrize("by", ["fcntl", "flock"])
def test_broken_locks_are_reported_as_broken(home: Path, without: dict[str, str], by: str, error: str) -> None:
    attempt(home, "memory", "write", "a first thing").assert_done()
    env = {**without, "NO_LOCKS": error, "NO_LOCKS_BY": by}
    for words in (*STORE, *STATE) if by == "fcntl" else STATE:
        done = attempt(home, *words, env=env)
        assert done.assert_failed() == "LOCKS_MISSING", done
        reported = done.envelope
        assert str(home) in reported["error"]["message"] and "another process" not in reported["error"]["message"]
        assert "JOELCLAW_HOME" in reported["fix"]
    if by == "fcntl":
        for words, key in (("status", "problems"), ("doctor", "findings")):
            reported = attempt(home, words, env=env).envelope["result"][key]
            assert [problem["code"] for problem in reported if problem["code"].startswith(("LOCKS", "STORE"))] == [
                "LOCKS_MISSING"
            ]
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(home), "prompt": "mend the gauge"}
    done = attempt(home, "hook", "claude", stdin=json.dumps(event).encode(), env=env)
    assert (done.code, done.err) == (0, "")
    lines = [path.read_text() for path in (home / "spool").iterdir()]
    assert any("LOCKS_MISSING" in line for line in lines) and not any("another process" in line for line in lines)
