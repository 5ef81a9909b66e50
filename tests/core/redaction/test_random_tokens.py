"""Tokens that chance made are found by length, signs and runs; and whether it is worth looking for a shape at all."""

from __future__ import annotations

from core.redaction import find_secrets, redact
from core.redaction.tokens import find_random

TOKEN = "q7Xz2LmR9tWv4KpD8sHy3NbJ"  # 24 characters, as chance might make them
LONG = TOKEN + TOKEN[::-1]


def found(text: str) -> list[str]:
    return [text[start:end] for start, end, _ in find_random(text, find_secrets)]


def test_the_token_of_a_discord_bot() -> None:
    first, stamp, last = "M" + TOKEN[:23], "aB3dE6", "x" * 27
    assert find_random(f"is {first}.{stamp}.{last}, so", find_secrets) == [(3, 3 + 24 + 8 + 27, "discord-token")]
    for other in (f"A{first[1:]}.{stamp}.{last}", f"{first}.{stamp}.{last[1:]}", f"{first}.{stamp[1:]}.{last}"):
        assert "discord-token" not in [kind for _, _, kind in find_random(other, find_secrets)]


def test_every_key_of_a_file_is_found() -> None:
    head, body, foot = "-----BEGIN " + "PRIVATE KEY-----", f"\n{LONG}\n", "-----END " + "PRIVATE KEY-----"
    block = head + body + foot
    assert redact(f"a {block} b {head} c {block} d")[0] == (
        f"a [redacted:private-key] b {head} c [redacted:private-key] d"
    )
    assert redact(f"shop:x1y2z3@unix(/run/db)/shop {block}")[1] == ("url-password", "private-key")
