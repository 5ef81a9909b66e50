"""The word by which a shell runs this very installation, in every command that is printed. Hot path."""

import os
import sys

NAME = "joelclaw"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%,:=")
_PATHS_ROOM = 120  # characters that our path may add to all commands of a text together; to a single one, more
_UNCOUNTED = 100  # characters of our path that a text may have above its budget
_OF_LOGIN = "/usr/local/bin:/usr/bin:/bin"
_known: dict[tuple[str, str], str] = {}


def recall(query: str, agent: str) -> str:
    """The command that asks a query (safe between double quotes), as the shell of a client runs it."""
    return f'{word(agent)} recall "{query}" --raw'


def most(commands: int, agent: str) -> int:
    """How many of so many commands a text of some hundred tokens has room for: one at least, fewer for a long path."""
    longer = len(word(agent)) - len(NAME)
    return commands if commands * longer <= _PATHS_ROOM else min(commands, max(1, _PATHS_ROOM // longer))


def uncounted(commands: int, agent: str) -> int:
    """Estimated tokens that a text with so many commands may have above its budget, as they name us by our path."""
    return min(commands * (len(word(agent)) - len(NAME)), _UNCOUNTED) // 4


def word(agent: str = "") -> str:
    """`joelclaw` where PATH finds this installation from any folder; else its absolute path, quoted if need be."""
    folders = os.environ.get("PATH", "")
    if agent:
        import clients

        folders = _OF_LOGIN if clients.row(agent).login_shell else folders
    around = (sys.argv[0] if sys.argv else "", folders)
    if around not in _known:  # a look at each folder of PATH, for every command of a text
        _known[around] = _word(folders)
    return _known[around]


def _word(folders: str) -> str:
    own = path()
    if not own or _is_found(own, folders):
        return NAME
    if _PLAIN.issuperset(own):
        return own
    return "'" + own.replace("'", "'\"'\"'") + "'" if own.isprintable() and "`" not in own else NAME


def path() -> str:
    """The absolute path of the command that runs, links kept: an upgrade moves what they point to; "" without one."""
    for given in (sys.argv[0] if sys.argv else "", os.path.join(os.path.dirname(sys.executable), NAME)):
        if os.path.basename(given) == NAME and os.sep in given and os.access(given, os.X_OK):
            return os.path.abspath(given)
    return ""


def _is_found(own: str, folders: str) -> bool:
    """Whether the first command of our name in these folders is the one at `own`, wherever the shell stands."""
    for folder in folders.split(os.pathsep):
        if not os.path.isabs(folder):
            return False  # it finds something else in another folder
        found = os.path.join(folder, NAME)
        if os.access(found, os.X_OK) and os.path.isfile(found):
            return os.path.realpath(found) == os.path.realpath(own)
    return False
