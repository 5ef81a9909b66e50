"""The lists of fields in docs/contract.md, from the schemas in docs/contract/."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

ORDER = (
    "recall memory-write otel-emit otel-search checkpoint-save checkpoint-flush inject-recovery inject-memory"
    " inject-refresh inject-project"
).split()


def page() -> str:
    """The page, without its beginning."""
    return "\n".join(line for name in ORDER for line in _command(name))


def _command(name: str) -> Iterator[str]:
    schema = _schema(name)
    yield f"## {schema['title'].removeprefix('joelclaw ')}\n"
    stdin = "" if schema["x-stdin"] == "none" else f" stdin: {schema['x-stdin']}."
    yield f"{schema['description']}{stdin} [Schema](contract/{name}.schema.json)\n"
    yield f"    {schema['examples'][0]}\n"
    base = {"checkpoint-flush": "checkpoint-save"}.get(name) or ("inject-recovery" if name[:7] == "inject-" else "")
    known = _schema(base)["properties"] if base not in ("", name) else {}
    if known:
        yield f"The fields of `{base.replace('-', ' ')}`, and:\n"
    yield from _fields(schema, known)
    yield ""


def _schema(name: str) -> dict[str, Any]:
    return dict(json.loads(Path(f"docs/contract/{name}.schema.json").read_text(encoding="utf-8")))


def _fields(schema: dict[str, Any], known: Collection[str]) -> Iterator[str]:
    """The fields in a block, with those of an object or of the objects in a list below or behind it."""
    for name, field in schema["properties"].items():
        if name in known:
            continue
        inner = field.get("properties") or field.get("items", {}).get("properties", {})
        always = field.get("required", field.get("items", {}).get("required", inner))
        keys = {key: f"{key}{'' if key in always else '?'}{_note(of)}" for key, of in inner.items()}
        is_long = len(inner) > 6 and name in schema["required"]
        names = "" if is_long else ", ".join(keys.values())
        optional = "" if name in schema["required"] else "?"
        about = field.get("description", "objects.").rstrip(".").replace("`", "") + (f": {names}" if names else "")
        yield f"    {name}{optional}{_note(field)}: {about}"
        for key, of in inner.items() if is_long else ():
            yield f"      {keys[key]}: {of['description'].rstrip('.').replace('`', '')}"


def _note(field: dict[str, Any]) -> str:
    """` (integer 0–100)`; nothing for a string."""
    kind = field.get("type", "any")
    kind = "/".join(kind) if isinstance(kind, list) else kind
    if field.get("enum"):
        kind = "/".join(f'"{value}"' for value in field["enum"])
    if "minimum" in field and "maximum" in field:
        kind += f" {field['minimum']}–{field['maximum']}"
    return "" if kind == "string" else f" ({kind})"
