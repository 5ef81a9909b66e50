"""The lists of fields in docs/contract.md, from the schemas in docs/contract/."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

ORDER = (
    "recall memory-write otel-emit otel-search checkpoint-save checkpoint-flush checkpoint-show"
    " inject-recovery inject-memory inject-refresh inject-project"
).split()


def page() -> str:
    """The page, without its beginning."""
    return "\n".join(line for name in ORDER for line in _command(name))


def _command(name: str) -> Iterator[str]:
    schema = _schema(name)
    yield f"## {schema['title'].removeprefix('joelclaw ')}\n"
    yield f"    {schema['examples'][0]}\n"
    yield f"{schema['description']} stdin: {schema['x-stdin']}. [Schema](contract/{name}.schema.json)\n"
    base = {"checkpoint-flush": "checkpoint-save"}.get(name) or ("inject-recovery" if name[:7] == "inject-" else "")
    known: list[str] = []
    if base and base != name:
        known = [field for field in _schema(base)["properties"] if field in schema["properties"]]
        more = ", and:" if set(schema["properties"]) - set(known) else "."
        yield f"The fields of `{base.replace('-', ' ')}`{more}\n"
    yield from _fields(schema, known)
    yield ""


def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(Path(f"docs/contract/{name}.schema.json").read_text(encoding="utf-8"))
    return schema


def _fields(schema: dict[str, Any], known: Collection[str]) -> Iterator[str]:
    for name, field in schema["properties"].items():
        if name in known:
            continue
        inner = field.get("properties") or field.get("items", {}).get("properties", {})
        is_long = len(inner) > 6
        names = "" if is_long else ", ".join(f"`{key}`{_note(of)}" for key, of in inner.items())
        optional = "" if name in schema["required"] else "optional"
        about = field.get("description", "objects.") + (f" With {names}" if names else "")
        yield f"- `{name}`{_note(field, optional)}: {about}"
        for key, of in inner.items() if is_long else ():
            yield f"  - `{key}`{_note(of)}: {of['description']}"


def _note(field: dict[str, Any], more: str = "") -> str:
    """` (integer 0–100, optional)`; nothing for a string."""
    kind = field.get("type", "any")
    kind = "/".join(kind) if isinstance(kind, list) else kind
    if field.get("enum"):
        kind = "/".join(f'"{value}"' for value in field["enum"])
    if "minimum" in field and "maximum" in field:
        kind += f" {field['minimum']}–{field['maximum']}"
    notes = ", ".join(filter(None, ("" if kind == "string" else kind, more)))
    return f" ({notes})" if notes else ""
