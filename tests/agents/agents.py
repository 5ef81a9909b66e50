#!/usr/bin/env python3
"""Install real coding agents, and run them offline through a real compaction.

    python agents.py install CLIENT|all [--dir DIR]
    python agents.py run CLIENT --home HOME --workdir WD --script S.json --out OUT [--dir DIR] [--mode rpc]
                     [--extension X]... [--path-prefix BIN]... [--env K=V]... [--client-arg A]...
                     [--timeout S] [PROMPT]...
    CLIENT = pi | claude | codex | gemini | opencode

DIR is where the client lies: $JOELCLAW_E2E_CLIENTS/CLIENT, or .e2e/CLIENT in the repository. `install` is `npm install
--prefix DIR` of one pinned version, and nothing where that version is there already; it is the only command that uses
the network. Exit 69: npm could not reach its registry.

`run` starts the mock of mock_llm.py on a free loopback port, merges the least configuration that the client needs into
HOME (what is there stays: hooks, extensions, plugins, other settings), sends the prompts one after the other in one
session, and leaves in OUT
    requests.jsonl     what the client sent to the model, and what it got back
    transcripts/       the client's own session file
    stdout.txt, stderr.txt
    summary.json       {client, version, compactions, requests, exit_codes, wall_s, ...}
Without a PROMPT the script's "prompts" are used. The client sees only PATH, HOME, TMPDIR, TERM, LANG, a dummy key,
switches that keep it offline, and --env; its proxy is the mock, which refuses (and logs) every other host.
--extension: pi: `-e FILE`; opencode: FILE is copied to HOME's plugin folder. The other clients take their hooks from
HOME. Exit 0: done; 1: a client failed or ran out of time; 3: no compaction was seen.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import OutOfTime, Run
from outcome import installed_version, summary
from real_clients import CLIENTS, pi

HERE = Path(__file__).resolve().parent
OFFLINE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH")
UNREACHABLE = 69  # EX_UNAVAILABLE of sysexits.h


def default_folder(client: str) -> Path:
    """Where a client lies unless told otherwise."""
    clients = os.environ.get("JOELCLAW_E2E_CLIENTS")
    return (Path(clients) if clients else HERE.parent.parent / ".e2e") / client


def install(name: str, folder: Path) -> int:
    """Put the pinned version there, unless it is there; returns the exit status."""
    client = CLIENTS[name]
    package = f"{client.PACKAGE}@{client.VERSION}"
    if installed_version(folder, client) != client.VERSION:
        folder.mkdir(parents=True, exist_ok=True)
        cache = folder / ".npm-cache"
        flags = ["--save-exact", "--no-audit", "--no-fund", "--loglevel", "error", "--fetch-retries", "1"]
        done = subprocess.run(
            ["npm", "install", "--prefix", str(folder), "--cache", str(cache), *flags, package],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
        )
        shutil.rmtree(cache, ignore_errors=True)
        if done.returncode or installed_version(folder, client) != client.VERSION:
            print(
                f"{name}: npm could not install {package} ({done.returncode})\n{done.stderr.strip()}", file=sys.stderr
            )
            return UNREACHABLE if any(code in done.stderr for code in OFFLINE) else 1
    return started(name, folder)


def started(name: str, folder: Path) -> int:
    """Whether it starts: a postinstall script that was skipped leaves a stub."""
    with tempfile.TemporaryDirectory() as home:
        node = os.path.dirname(shutil.which("node") or "/usr/bin/node")
        env = {"PATH": os.pathsep.join([node, "/usr/bin", "/bin"]), "HOME": home, "TMPDIR": home}
        command = [str(folder / "node_modules" / ".bin" / CLIENTS[name].COMMAND), "--version"]
        try:
            done = subprocess.run(
                command, env=env, timeout=60, stdin=subprocess.DEVNULL, capture_output=True, text=True
            )
            said = (done.stdout.strip() or done.stderr.strip()).splitlines()[-1:]
            good = done.returncode == 0
        except (OSError, subprocess.TimeoutExpired) as fault:
            said, good = [str(fault)], False
    print(f"{name}: {CLIENTS[name].PACKAGE}@{CLIENTS[name].VERSION}, --version says {' '.join(said)}")
    return 0 if good else 1


def run_client(given: argparse.Namespace) -> int:
    """The `run` command."""
    client = CLIENTS[given.client]
    if given.extension and given.client not in ("pi", "opencode"):
        raise SystemExit(f"{given.client} has no --extension here: put its hooks into HOME's own configuration first")
    script = json.loads(given.script.read_text(encoding="utf-8"))
    prompts = given.prompt or script.get("prompts") or []
    if not prompts:
        raise SystemExit("no prompt given, and the script has none")
    signal.signal(signal.SIGTERM, lambda *_signal: sys.exit(143))  # so that the client is ended, too
    run = Run(given, script, client)
    timed_out = False
    try:
        client.drive(run, prompts)
    except (OutOfTime, subprocess.TimeoutExpired):
        timed_out = True
    finally:
        run.close()
    told = summary(run, given.client, script, len(prompts), timed_out=timed_out)
    text = json.dumps(told, indent=2) + "\n"
    (run.out / "summary.json").write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    if timed_out or not run.exit_codes or any(run.exit_codes):
        return 1
    return 0 if told["compactions"] else 3


def parsed() -> argparse.Namespace:
    """The command line; argparse takes no positionals after options here, so the prompts are what is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("install", help="npm install one pinned client, or all")
    one.add_argument("client", choices=[*CLIENTS, "all"])
    one.add_argument("--dir", type=Path, help="where to")
    one = commands.add_parser(
        "run", help="run a client through a scripted session", usage="agents.py run CLIENT OPTION... [PROMPT]..."
    )
    one.add_argument("client", choices=CLIENTS)
    for name, text in (
        ("--home", "HOME of the client"),
        ("--workdir", "the project folder it works in"),
        ("--script", "mock script (scenarios/*.json)"),
        ("--out", "a new or empty folder for the results"),
    ):
        one.add_argument(name, type=Path, required=True, help=text)
    one.add_argument("--dir", type=Path, help="where `install` put the client")
    one.add_argument("--mode", choices=pi.MODES, default="rpc", help="how pi is driven")
    one.add_argument("--extension", type=Path, action="append", default=[], help="pi extension or opencode plugin file")
    one.add_argument("--path-prefix", type=Path, action="append", default=[], help="folder to put first on PATH")
    one.add_argument("--env", action="append", default=[], metavar="K=V", help="one more variable for the client")
    one.add_argument("--client-arg", action="append", default=[], help="one more argument (write --client-arg=--flag)")
    one.add_argument("--timeout", type=float, default=240, help="seconds for the whole run (default 240)")
    given, rest = parser.parse_known_args()
    if (given.command == "install" and rest) or any(word.startswith("-") for word in rest):
        parser.error("not understood: " + " ".join(rest))
    if given.client != "all":
        given.dir = given.dir or default_folder(given.client)
    elif given.dir:
        parser.error("--dir holds one client")
    given.prompt = rest
    return given


def main() -> int:
    """Run the command; returns the exit status."""
    given = parsed()
    if given.command == "run":
        return run_client(given)
    names = list(CLIENTS) if given.client == "all" else [given.client]
    return max(install(name, given.dir or default_folder(name)) for name in names)


if __name__ == "__main__":
    sys.exit(main())
