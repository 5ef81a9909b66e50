"""A minimal agent loop that survives its compactions. The model is `answer`; prompts are lines of stdin."""

import subprocess
import sys
import uuid

WINDOW = 2_000  # characters: a real agent counts tokens
session = str(uuid.uuid4())
context: list[str] = []


def joelclaw(*words: str) -> str:
    """The output of a command; "" if it fails: an agent goes on without its memory."""
    done = subprocess.run(["joelclaw", *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def answer(prompt: str) -> str:
    return f"I have done this: {prompt}"


context.append(joelclaw("inject", "memory", "--session", session, "--raw"))
for prompt in map(str.strip, sys.stdin):
    context += [prompt, answer(prompt)]
    percent = min(100, 100 * sum(map(len, context)) // WINDOW)
    joelclaw("checkpoint", "save", "--session", session, "--percent", str(percent), "--message", prompt)
    if percent >= 90:
        joelclaw("checkpoint", "flush", "--session", session)
        context = ["A summary of the conversation.", joelclaw("inject", "recovery", "--session", session, "--raw")]
        print(context[-1])
