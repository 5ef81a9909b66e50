"""The one way a command fails: a code for machines, a message for people, and what to do about it."""

FAILED = 1
USAGE = 2


class Failure(Exception):
    """A command cannot do what was asked: `message` says what is wrong, `fix` what the reader can do about it."""

    __slots__ = ("code", "exit_code", "fix", "message")

    def __init__(self, code: str, message: str, fix: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fix = fix
        self.exit_code = exit_code


def usage(code: str, message: str, fix: str) -> Failure:
    """A Failure caused by the caller's arguments (exit 2)."""
    return Failure(code, message, fix, USAGE)
