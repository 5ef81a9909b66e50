"""`apsw`, imported without the 3 ms that its `import collections.abc` costs.

The module it asks for is `_collections_abc`, which Python has loaded already (from 3.13 on, Python makes that link
itself). The stand-in is taken away again, so that a later `import collections` finds things as they should be.
"""

from __future__ import annotations

import _collections_abc
import sys

_NAMES = ("collections", "collections.abc")  # the import of a submodule asks for its package too
_missing = [name for name in _NAMES if name not in sys.modules]
for _name in _missing:
    sys.modules[_name] = _collections_abc
try:
    import apsw
finally:
    for _name in _missing:
        del sys.modules[_name]

__all__ = ["apsw"]
