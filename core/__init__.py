"""What every package uses: time, ids, JSON, errors, configuration, files and the store."""

VERSION = "0.2.0"
"""The version of the whole package: `pyproject.toml` and `joelclaw --version` read it here."""

TYPE_CHECKING = False
"""True for type checkers, so that imports below it cost a hot command nothing."""
