"""Who sends: the OpenTelemetry resource of a machine's events, and the scope of all of them."""

from __future__ import annotations

from functools import cache

from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from core import files, ids
from otel import attributes

SERVICE = "joelclaw"


def version() -> str:
    """The installed version of joelclaw."""
    from importlib import metadata

    try:
        return metadata.version(SERVICE)
    except metadata.PackageNotFoundError:
        return "unknown"


@cache
def of(system: str) -> Resource:
    """The resource of one machine's events; `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME` beat what is here.

    The instance is this memory on that machine: the same at each export, another for another home.
    """
    digits = ids.fingerprint(f"{files.home()}\n{system}")
    ours = Resource(
        {
            "service.name": SERVICE,
            "service.version": version(),
            "service.instance.id": "-".join(
                (digits[:8], digits[8:12], "8" + digits[13:16], "8" + digits[17:20], digits[20:])
            ),
            "host.name": system,
            attributes.SYSTEM: system,
            "telemetry.sdk.language": "python",
            "telemetry.sdk.name": "opentelemetry",
            "telemetry.sdk.version": _sdk_version(),
        }
    )
    return ours.merge(OTELResourceDetector().detect())


@cache
def scope() -> InstrumentationScope:
    """Who made the records."""
    return InstrumentationScope(SERVICE, version())


def _sdk_version() -> str:
    from importlib import metadata

    try:
        return metadata.version("opentelemetry-sdk")
    except metadata.PackageNotFoundError:
        return "unknown"
