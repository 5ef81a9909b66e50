"""Text to stdout and stderr, whoever reads it or does not. Hot path."""

import os
import sys


class StdoutFullError(Exception):
    """Stdout takes no more, a full disk behind it say; the text is the system's reason."""


def is_terminal() -> bool:
    """Whether stdout is a terminal, where a person reads it."""
    try:
        return os.isatty(1)
    except OSError:
        return False


def write_out(text: str) -> bool:
    """Text to stdout as UTF-8, whatever the locale; returns whether anybody reads on, as `write_bytes`."""
    return write_bytes(text.encode("utf-8", "replace"))


def write_bytes(data: bytes | bytearray) -> bool:
    """Bytes to stdout; returns whether anybody reads on. A reader that went away is no error."""
    try:
        with memoryview(data) as view:
            done = 0
            while done < len(view):
                done += os.write(1, view[done:])
    except BrokenPipeError:
        return False
    except OSError as error:
        raise StdoutFullError(error.strerror or type(error).__name__) from None
    return True


def tell(text: str) -> None:
    """Text to stderr, for a person; where nobody reads that either, nobody is told."""
    try:
        sys.stderr.write(text)
    except OSError:
        pass
