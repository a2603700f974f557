"""Opens web pages that a server named, after the user has seen the address."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.wording.questions import url_parts


def open_page(url: str) -> ErrorDetails | None:
    """Open an address in the browser; return the error if that is refused or fails."""
    parts = url_parts(url)
    address = QUrl(url, QUrl.ParsingMode.StrictMode)
    if parts.refusal or not address.isValid() or not _is_of_host(address, parts.host):
        reason = parts.refusal or address.errorString()
        return ErrorDetails("Cannot open the page", parts.shown[:200], reason)
    if not QDesktopServices.openUrl(address):
        hint = "Copy the address and open it in a browser."
        return ErrorDetails("Cannot start a browser", parts.host, hint)
    return None


def _is_of_host(address: QUrl, shown: str) -> bool:
    """Return whether Qt would open the same host that was shown."""
    plain = QUrl.ComponentFormattingOption
    read = {address.host(option).casefold() for option in (plain.FullyEncoded, plain.FullyDecoded)}
    host = shown.rpartition(":")[0] if address.port() >= 0 else shown
    return host.casefold().strip("[]") in read
