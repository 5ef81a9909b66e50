"""pi: our extension sends a payload of our own (`extension.js`)."""

from __future__ import annotations

from clients import extension_hooks

KINDS = extension_hooks.KINDS
read = extension_hooks.reader("pi")
answer = extension_hooks.answer
