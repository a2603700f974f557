"""Secrets in the system's keyring, by the library `keyring` where that is installed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.secrets import HIDDEN_VALUE

if TYPE_CHECKING:
    from collections.abc import Callable

    from keyring.backend import KeyringBackend

SERVICE: Final = "mcp-progress-monitor"
"""Under what service the system shows our secrets; their names are users' names to it."""
_LIMIT_S: Final = 30.0
"""How long a keyring may take: it may ask the user to unlock it, and there may be nobody."""
_INSTEAD: Final = "Alternatively, refer to an environment variable: ${env:NAME}."

_Found = TypeVar("_Found")


class SystemKeyring:
    """The keyring of the system: of macOS, of Windows, Secret Service or KWallet elsewhere.

    Blocks: call it in a thread. Whatever fails raises `UserError`, at the latest after half a
    minute.
    """

    def get(self, name: str) -> str | None:
        return _with_limit(name, _Getting(name))

    def put(self, name: str, secret: str) -> None:
        try:
            _with_limit(name, _Putting(name, secret))
        except UserError as error:  # whose words are the backend's, with whatever it was given
            detail = error.details.detail.replace(secret, HIDDEN_VALUE)
            raise UserError(error.details._replace(detail=detail)) from None

    def forget(self, name: str) -> None:
        _with_limit(name, _Forgetting(name))


def is_available() -> bool:
    """True if there is a keyring that secrets can be put into. Blocks: call it in a thread."""
    try:
        _with_limit("", _backend)
    except UserError:
        return False
    return True


class _Getting:
    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self) -> str | None:
        found: object = _backend().get_password(SERVICE, self._name)
        if found is not None and not isinstance(found, str):
            raise TypeError("the stored value is not text")
        return found


class _Putting:
    def __init__(self, name: str, secret: str) -> None:
        self._name = name
        self._secret = secret

    def __call__(self) -> None:
        _backend().set_password(SERVICE, self._name, self._secret)


class _Forgetting:
    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self) -> None:
        backend = _backend()
        # Asked first: keyrings have one error for what is not there and what may not be deleted.
        if backend.get_password(SERVICE, self._name) is not None:
            backend.delete_password(SERVICE, self._name)


def _backend() -> KeyringBackend:
    """The keyring in use. One that keeps nothing counts as none."""
    try:
        import keyring  # optional, and slow to look for what the system has
        from keyring.backends import fail, null
    except ImportError as error:
        hint = (
            "Install keyring in this program's environment: pip install keyring, or, if you used "
            f"pipx, pipx inject mcp-progress-monitor keyring. {_INSTEAD}"
        )
        what = "Cannot use the system's keyring: the keyring library is not installed"
        raise UserError(ErrorDetails(what, "keyring", hint)) from error
    found = keyring.get_keyring()
    if isinstance(found, fail.Keyring | null.Keyring):
        hint = f"Install one, such as GNOME Keyring or KWallet, or start it. {_INSTEAD}"
        raise UserError(ErrorDetails("This system has no usable keyring", "", hint))
    return found


class _Call(threading.Thread):
    """One call of a keyring, in a thread that keeps no program from ending."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(name="keyring", daemon=True)
        self.result: Any = None
        self.error: Exception | None = None
        self._work = work

    def run(self) -> None:
        try:
            self.result = self._work()
        except Exception as error:  # noqa: BLE001 - backends raise whatever theirs do
            self.error = error


def _with_limit(name: str, work: Callable[[], _Found]) -> _Found:
    call = _Call(work)
    call.start()
    call.join(_LIMIT_S)
    if call.is_alive():
        hint = f"Unlock it and try again. {_INSTEAD}"
        what = f"The system's keyring did not respond within {_LIMIT_S:g} s"
        raise UserError(ErrorDetails(what, name, hint))
    if isinstance(call.error, UserError):
        raise call.error
    if call.error is not None:
        raise UserError(_details(call.error, name)) from call.error
    found: _Found = call.result
    return found


def _details(error: Exception, name: str) -> ErrorDetails:
    from keyring import errors  # it is there: its backend has raised something

    detail = str(error)[:1000] or type(error).__name__
    if isinstance(error, errors.KeyringLocked):
        hint = f"Unlock it and try again. {_INSTEAD}"
        return ErrorDetails("The system's keyring is locked", name, hint, detail)
    if isinstance(error, errors.InitError | errors.NoKeyringError):
        hint = f"Check that it is running in this session. {_INSTEAD}"
        return ErrorDetails("Cannot reach the system's keyring", name, hint, detail)
    if isinstance(error, errors.PasswordSetError):
        hint = f"Allow this program to write to it. {_INSTEAD}"
        return ErrorDetails("The system's keyring did not save the secret", name, hint, detail)
    if isinstance(error, errors.PasswordDeleteError):
        hint = f"Delete it in your keyring application: it belongs to {SERVICE}."
        return ErrorDetails("The system's keyring did not delete the secret", name, hint, detail)
    hint = f"Allow this program to read from it and try again. {_INSTEAD}"
    return ErrorDetails("The system's keyring denied access", name, hint, detail)
