"""The choices of the user: where signals go, and what is sent beyond the usual."""

from __future__ import annotations

import os
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from mcp_progress_monitor import telemetry_names as names
from mcp_progress_monitor.errors import ErrorDetails, UserError

_DEFAULT: Final = "http://localhost:4318"
_PROTOCOLS: Final = frozenset({"", "http/protobuf"})


class TelemetryOptions(NamedTuple):
    """An empty `endpoint` is that of the `OTEL_…` variables."""

    endpoint: str = ""
    has_job_gauges: bool = False

    @property
    def address(self) -> str:
        """The base URL of the collector, without credentials."""
        found = self.endpoint or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "") or _DEFAULT
        parts = urlsplit(found)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()

    @property
    def has_content(self) -> bool:
        """True if arguments and results are sent."""
        return os.environ.get(names.CAPTURE, "").strip().lower() in {"true", "1", "span_only"}

    def url(self, signal: str) -> str | None:
        """The URL of a signal; None leaves it to the `OTEL_…` variables."""
        return f"{self.endpoint.rstrip('/')}/v1/{signal}" if self.endpoint else None

    @staticmethod
    def sends(signal: str) -> bool:
        """False for a signal that `OTEL_…_EXPORTER=none` turns off."""
        chosen = os.environ.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip().lower()
        return chosen != "none"

    def check(self) -> None:
        """Raise `UserError` if nothing could be sent like this."""
        if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
            what = "Telemetry is turned off by the environment"
            raise UserError(ErrorDetails(what, "OTEL_SDK_DISABLED", "Remove the variable."))
        protocol = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "").strip().lower()
        if protocol not in _PROTOCOLS:
            hint = "Use http/protobuf and the collector's HTTP port, usually 4318."
            what = f"The OTLP protocol {protocol!r} is not supported"
            raise UserError(ErrorDetails(what, "OTEL_EXPORTER_OTLP_PROTOCOL", hint))
        try:
            parts = urlsplit(self.address)
            is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname)
            is_valid = is_valid and (parts.port is None or parts.port > 0)
        except ValueError:
            is_valid = False
        if not is_valid:
            what = "The address of the collector is not an http or https URL"
            hint = "Enter a URL such as http://localhost:4318."
            raise UserError(
                ErrorDetails(what, self.endpoint or "OTEL_EXPORTER_OTLP_ENDPOINT", hint)
            )
