"""OpenCode: our plugin sends a payload of our own (`extension.js`)."""

from __future__ import annotations

from clients import extension_hooks

KINDS = extension_hooks.KINDS
read = extension_hooks.reader("opencode")
answer = extension_hooks.answer
