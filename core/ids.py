"""Identifiers: UUIDv7 (RFC 9562), sortable by time, made without importing `uuid`."""

import os

from core import clock


def uuid7() -> str:
    """A new UUIDv7 with the clock's time."""
    tail = bytearray(os.urandom(10))
    tail[0] = 0x70 | tail[0] & 0x0F
    tail[2] = 0x80 | tail[2] & 0x3F
    text = (clock.now_ms().to_bytes(6, "big") + bytes(tail)).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def shown(session: str) -> str:
    """A short form of a session's id for people: the first block of a UUID (see `core.store.sessions.whole_id`)."""
    blocks = [len(block) for block in session.split("-")]
    is_uuid = blocks == [8, 4, 4, 4, 12] and session.replace("-", "").isalnum()
    return session[:8] if is_uuid else session


def fingerprint(text: str) -> str:
    """A stable 128-bit hash of a text, as 32 hex digits: to detect change, not for secrecy."""
    try:
        from _blake2 import blake2b  # `hashlib` takes 4 ms to import
    except ImportError:  # an interpreter without the private module
        from hashlib import blake2b
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
