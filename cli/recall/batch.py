"""`recall --batch FILE`: one query a line in, one answer a line out."""

import sys
from typing import Any

from cli.answer import write_json
from cli.bulk import is_endless
from cli.recall.search import CODE, query_of
from core import clock, config, envelope, json_text
from core.errors import usage
from core.words import clean
from session.recorded_recall import RecordedRecall

_STDIN = "-"


def run(options: dict[str, Any], names: tuple[str, ...]) -> int:
    """One query a line in, one compact envelope a line out. Recalls in bulk do not count as use.

    Of a file's query the number is printed: agents may run `recall` unasked, and are not to read any file with it.
    """
    recalls = RecordedRecall(config.load())
    asked = query_of(options, names, recalls)
    where, fix = options["batch"], "name a file with one query a line, or -"
    try:
        handle = sys.stdin.buffer if where == _STDIN else open(where, "rb")
    except OSError as error:
        raise usage(CODE, f"{where}: {error.strerror}", fix) from None
    with handle:
        if where != _STDIN and is_endless(handle):
            raise usage(CODE, f"{where} is a device", fix)
        texts = (clean(line.decode("utf-8", "surrogateescape")).rstrip("\r\n") for line in handle)
        for number, text in enumerate(filter(str.strip, texts), 1):
            result: dict[str, Any] = {**recalls.ask(asked(text), now=clock.now_ms())}
            if where != _STDIN:
                result |= {"query": "", "rewrittenQuery": "", "number": number}
            if not write_json(json_text.dumps(envelope.done("joelclaw recall", result))):
                break
    recalls.save()
    return 0
