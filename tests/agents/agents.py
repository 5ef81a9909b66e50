#!/usr/bin/env python3
"""Install a pinned version of a coding agent, or of all: `python agents.py install CLIENT|all`.

It goes to $JOELCLAW_E2E_CLIENTS/CLIENT, or to .e2e/CLIENT in the repository. Only this uses the network. Exit codes:
0 installed (or was there already), 1 failed, 69 npm could not reach its registry.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

from harness import client_folder, installed_version, node_folder
from real_clients import CLIENTS

UNREACHABLE = 69  # EX_UNAVAILABLE of sysexits.h
NETWORK_ERRORS = (
    "ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH",
)  # fmt: skip


def install(name: str) -> int:
    """Install the pinned version unless it is there; returns the exit code."""
    client, folder = CLIENTS[name], client_folder(name)
    # a newer Node first: the installation of OpenClaw runs with it, and refuses an older one
    packages = [
        *(f"node@{node}" for node in [getattr(client, "NODE", "")] if node),
        f"{client.PACKAGE}@{client.VERSION}",
    ]
    if installed_version(name) != client.VERSION:
        folder.mkdir(parents=True, exist_ok=True)
        cache = folder / ".npm-cache"
        flags = ["--save-exact", "--no-audit", "--no-fund", "--loglevel", "error", "--fetch-retries", "1"]
        words = ["npm", "install", "--prefix", str(folder), "--cache", str(cache), *flags]
        for package in packages:
            done = subprocess.run(
                [*words, package], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder
            )
            if done.returncode:
                print(f"{name}: npm could not install {package}\n{done.stderr.strip()}", file=sys.stderr)
                return UNREACHABLE if any(code in done.stderr for code in NETWORK_ERRORS) else 1
        shutil.rmtree(cache, ignore_errors=True)
        if installed_version(name) != client.VERSION:
            print(f"{name}: npm installed {installed_version(name)} instead of {client.VERSION}", file=sys.stderr)
            return 1
    return check_start(name)


def check_start(name: str) -> int:
    """Run `CLIENT --version`: if npm skipped a postinstall script, the client is a stub."""
    client = CLIENTS[name]
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.pathsep.join([node_folder(name), "/usr/bin", "/bin"]), "HOME": home, "TMPDIR": home}
        words = [str(client_folder(name) / "node_modules" / ".bin" / client.COMMAND), "--version"]
        done = subprocess.run(words, env=env, timeout=60, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    version = (done.stdout.strip() or done.stderr.strip()).splitlines()[-1:]
    print(f"{name}: {client.PACKAGE}@{client.VERSION}, --version prints {' '.join(version)}")
    return min(done.returncode, 1)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "install" or sys.argv[2] not in (*CLIENTS, "all"):
        sys.exit(__doc__)
    sys.exit(max(install(name) for name in (CLIENTS if sys.argv[2] == "all" else [sys.argv[2]])))
