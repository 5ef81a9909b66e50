"""A document's vector in the static space: its own words, and with less weight its neighbouring turns."""

from __future__ import annotations

from recall import static_table


def document_vector(text: str, context: str = "", title: str = "") -> bytes:
    """int8[256] of a document, b"" when none of its words is known or the table is damaged: the words still find it."""
    whole = f"{title}\n{text}" if title else text
    try:
        return static_table.embed_in_context(whole, context) if context else static_table.embed(whole)
    except static_table.TableDamaged:
        return b""
