"""Query expansion without a model: developers' abbreviations, written out and the other way round.

The skip reasons are those of the mirrored CLI, which asks a model here.
"""

from __future__ import annotations

from core import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.records import Rewrite

_PAIRS = (
    "db database auth authentication authz authorization config configuration repo repository env environment"
    " deps dependencies perf performance k8s kubernetes i18n internationalization l10n localization"
    " a11y accessibility ci pipeline pr pull docs documentation dir directory param parameter async asynchronous"
    " sync synchronization ts typescript js javascript py python postgres postgresql tz timezone ui interface"
    " infra infrastructure prod production dev development impl implementation fn function msg message err error"
    " lib library pkg package cmd command ctx context creds credentials"
).split()
"""A short word and what it stands for, in turn."""
_COMMANDS = frozenset(
    "git npm npx pnpm yarn bun node deno python python3 pip uv cargo rustc go make cmake docker kubectl helm terraform"
    " curl ssh scp rsync ls cd cat grep rg sed awk find chmod chown sudo apt brew systemctl psql sqlite3 redis-cli"
    " joelclaw".split()
)


def skip_reason(query: str) -> str:
    """Why a query is better left as it is, or "" where it may be expanded."""
    text = query.strip()
    if not text:
        return "skip.empty_query"
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return "skip.literal_query"
    parts = text.split()
    if len(parts) == 1 and ("/" in text or "\\" in text or "." in text.strip(".") or "::" in text or "_" in text):
        return "skip.direct_identifier"
    if parts[0] in _COMMANDS and len(parts) > 1 and parts[1].isascii() and (parts[1].islower() or parts[1][0] == "-"):
        return "skip.command_like"
    return "skip.short_query" if len(text) <= 24 and len(parts) <= 3 else ""


def expand(query: str, *, enabled: bool) -> tuple[str, Rewrite]:
    """The query with abbreviations written out at its end, and what was done."""
    if not enabled:
        return query, {"rewritten": False, "strategy": "disabled", "reason": "budget.no_rewrite"}
    reason = skip_reason(query)
    if reason:
        return query, {"rewritten": False, "strategy": "skipped", "reason": reason}
    short, long = _PAIRS[::2], _PAIRS[1::2]
    table = dict(zip(short + long, long + short, strict=True))
    present = words.split(query)
    added = [table[word] for word in dict.fromkeys(present) if word in table and table[word] not in present]
    if not added:
        return query, {"rewritten": False, "strategy": "abbreviations", "reason": "nothing_to_expand"}
    return f"{query} {' '.join(added)}", {"rewritten": True, "strategy": "abbreviations", "reason": "expanded"}
