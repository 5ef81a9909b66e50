"""`apsw`, imported without the 3 ms that its `import collections.abc` costs.

The module it asks for is `_collections_abc`, which Python has loaded already (from 3.13 on, Python makes that link
itself). The stand-in is taken away again, so that a later `import collections` finds things as they should be.
"""

from __future__ import annotations

import _collections_abc
import sys

_NAME = "collections.abc"
_missing = _NAME not in sys.modules
if _missing:
    sys.modules[_NAME] = _collections_abc
try:
    import apsw
finally:
    if _missing:
        del sys.modules[_NAME]

__all__ = ["apsw"]
