"""Whose certificates are trusted: read once for all connections that are open at the same time.

Reading a system's certificates takes 30 ms and a megabyte: fifty servers held the loop for seconds.
"""

from __future__ import annotations

import os
import ssl
import weakref
from typing import Final

import httpx2

_Key = tuple[tuple[str, int], ...]
_held: Final[weakref.WeakValueDictionary[_Key, ssl.SSLContext]] = weakref.WeakValueDictionary()


def trusted() -> ssl.SSLContext:
    """What the system, or SSL_CERT_FILE and SSL_CERT_DIR, say now; `OSError` if that is unreadable.

    It is read anew for a new connection when one of the files has changed.
    """
    key = _key()
    found = _held.get(key)
    if found is None:
        found = _held[key] = httpx2.create_ssl_context()
    return found


def _key() -> _Key:
    paths = ssl.get_default_verify_paths()
    given = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return tuple(
        (path or "", _changed_ns(path))
        for path in (*given, paths.openssl_cafile, paths.openssl_capath)
    )


def _changed_ns(path: str | None) -> int:
    try:
        return os.stat(path).st_mtime_ns if path else 0  # noqa: PTH116  # four for a connection
    except OSError:
        return 0
