"""Stores a decision from a script, and says what to do if that fails: python remember.py "TEXT" [CATEGORY]."""

import json
import subprocess
import sys

text, category = (*sys.argv[1:], "ops")[:2]
done = subprocess.run(
    ["joelclaw", "memory", "write", text, "--category", category], stdout=subprocess.PIPE, text=True, check=False
)
answer = json.loads(done.stdout)
if not answer["ok"]:
    sys.exit(f"{answer['error']['code']}: {answer['error']['message']}\n{answer['fix']}")
stored = answer["result"]
print(f"{stored['verdict']}: {stored['id']} ({stored['categoryId']})")
