"""The word that runs this installation in a shell, for every command that we print. Hot path."""

import os
import sys

from core import files

NAME = "joelclaw"
_found_words: dict[tuple[str, str], str] = {}


def recall(query: str, agent: str) -> str:
    """The command that asks a query (safe between double quotes), as the shell of a client runs it."""
    return f'{word(agent)} recall "{query}" --raw'


def word(agent: str = "") -> str:
    """`joelclaw` if PATH finds this installation from any folder; else its absolute path, quoted if need be."""
    folders = (files.shell_path or [os.environ.get("PATH", "")])[0]
    if agent:
        import clients

        if clients.by_name(agent).login_shell:
            folders = "/usr/local/bin:/usr/bin:/bin"
    key = (sys.argv[0] if sys.argv else "", folders)
    if key not in _found_words:
        own = path()
        if not own or _is_found(own, folders):
            own = NAME
        elif not (own.isascii() and all(sign.isalnum() or sign in "/._-+@%,:=" for sign in own)):
            own = "'" + own.replace("'", "'\"'\"'") + "'" if own.isprintable() and "`" not in own else NAME
        _found_words[key] = own
    return _found_words[key]


def path() -> str:
    """The absolute path of the running command, "" if unknown. Links are kept: an upgrade changes their target."""
    for given in (sys.argv[0] if sys.argv else "", os.path.join(os.path.dirname(sys.executable), NAME)):
        if os.path.basename(given) == NAME and os.sep in given and os.access(given, os.X_OK):
            return os.path.abspath(given)
    return ""


def _is_found(own: str, folders: str) -> bool:
    """Whether the first command of our name in these folders is the file at `own`, whatever the shell's folder is."""
    for folder in folders.split(os.pathsep):
        if not os.path.isabs(folder):
            return False  # in another folder, the shell finds something else
        found = os.path.join(folder, NAME)
        if os.access(found, os.X_OK) and os.path.isfile(found):
            return os.path.realpath(found) == os.path.realpath(own)
    return False
