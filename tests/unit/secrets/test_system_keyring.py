"""The system's keyring: used where there is one, reported as text where it fails."""

import sys
import threading
from collections.abc import Iterator

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, null
from keyring.errors import (
    InitError,
    KeyringError,
    KeyringLocked,
    NoKeyringError,
    PasswordDeleteError,
    PasswordSetError,
)

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.secrets import system_keyring
from mcp_progress_monitor.secrets.system_keyring import SERVICE, SystemKeyring, is_available


class Backend(KeyringBackend):
    """A keyring in memory, which may fail."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}
        self.error: Exception | None = None
        self.error_at_end: Exception | None = None
        self.wait = threading.Event()
        self.wait.set()

    def get_password(self, service: str, username: str) -> str | None:
        self.wait.wait(20)
        if self.error is not None:
            raise self.error
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.error is not None:
            raise self.error
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.error_at_end is not None:
            raise self.error_at_end
        del self.kept[service, username]


@pytest.fixture
def backend() -> Iterator[Backend]:
    before = keyring.get_keyring()
    made = Backend()
    keyring.set_keyring(made)
    yield made
    made.wait.set()
    keyring.set_keyring(before)


def _error(name: str = "a") -> ErrorDetails:
    with pytest.raises(UserError) as caught:
        SystemKeyring().get(name)
    return caught.value.details


def test_a_secret_is_kept_and_found_under_our_service(backend: Backend) -> None:
    ring = SystemKeyring()
    assert ring.get("work/API_KEY") is None
    ring.put("work/API_KEY", "s3cret")
    assert ring.get("work/API_KEY") == "s3cret"
    assert backend.kept == {(SERVICE, "work/API_KEY"): "s3cret"}
    assert is_available()


def test_a_secret_is_deleted_and_one_that_is_not_there_is_none(backend: Backend) -> None:
    ring = SystemKeyring()
    ring.put("work/API_KEY", "s3cret")
    ring.forget("work/API_KEY")
    assert backend.kept == {}
    ring.forget("work/API_KEY")


def test_a_secret_that_may_not_be_deleted_is_reported(backend: Backend) -> None:
    SystemKeyring().put("a", "s3cret")
    backend.error_at_end = PasswordDeleteError("denied")
    with pytest.raises(UserError, match="did not delete"):
        SystemKeyring().forget("a")
    assert SystemKeyring().get("a") == "s3cret"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyringLocked("locked"), "is locked"),
        (InitError("no bus"), "Cannot reach"),
        (NoKeyringError("none"), "Cannot reach"),
        (KeyringError("denied"), "denied access"),
        (OSError("odd"), "denied access"),
        (ValueError(), "denied access"),
    ],
)
def test_each_failure_has_its_text_and_a_way_out(
    backend: Backend, error: Exception, text: str
) -> None:
    backend.error = error
    details = _error("work/API_KEY")
    assert text in details.what
    assert details.where == "work/API_KEY"
    assert "${env:NAME}" in details.hint
    assert details.detail == (str(error) or "ValueError")


def test_a_secret_that_is_not_taken_is_reported_without_it(backend: Backend) -> None:
    backend.error = PasswordSetError("read-only")
    with pytest.raises(UserError) as caught:
        SystemKeyring().put("a", "s3cret")
    assert "did not save" in caught.value.details.what
    assert "s3cret" not in caught.value.details.as_text()


def test_a_backend_that_repeats_what_it_was_given_does_not_tell_it(backend: Backend) -> None:
    backend.error = OSError("cannot write 'hush' to the bus")
    with pytest.raises(UserError) as caught:
        SystemKeyring().put("a", "hush")
    assert caught.value.details.detail == "cannot write '***' to the bus"
    assert caught.value.__cause__ is None


def test_what_is_no_text_is_reported(backend: Backend) -> None:
    backend.kept[SERVICE, "a"] = b"bytes"  # type: ignore[assignment]  # as a poor backend may
    assert _error().detail == "the stored value is not text"


@pytest.mark.parametrize("none", [fail.Keyring, null.Keyring])
def test_a_system_without_a_keyring_says_so(backend: Backend, none: type[KeyringBackend]) -> None:
    assert is_available()
    keyring.set_keyring(none())
    assert not is_available()
    assert _error().what == "This system has no usable keyring"


def test_without_the_library_the_hint_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    error = _error()
    assert "library" in error.what
    assert "pip install keyring" in error.hint
    assert not is_available()


def test_a_keyring_that_does_not_answer_is_given_up(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_keyring, "_LIMIT_S", 0.05)
    backend.wait.clear()
    assert "did not respond" in _error().what
