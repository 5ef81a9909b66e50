"""What every room stands on: time, ids, JSON, errors, configuration, files and the store."""

VERSION = "0.2.0"
"""The version of the whole package: `pyproject.toml` and `joelclaw --version` read it here."""

TYPE_CHECKING = False
"""Type checkers take it for true: what is imported below it costs a hot command nothing."""
