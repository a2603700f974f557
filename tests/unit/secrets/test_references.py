"""References to secrets: resolved late, reported when they lead nowhere, never shown resolved."""

import threading

import anyio
import pytest

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.secrets.references import DOTS, NoKeyring, masked, names_in, resolved

pytestmark = pytest.mark.anyio


class Ring:
    """A keyring of one secret."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def get(self, name: str) -> str | None:
        self.threads.add(threading.get_ident())
        if name == "refused":
            raise UserError(ErrorDetails("It is locked", name))
        return "s3cret" if name == "work/API_KEY" else None

    def put(self, name: str, secret: str) -> None:
        raise NotImplementedError

    def forget(self, name: str) -> None:
        raise NotImplementedError


async def test_references_become_what_they_stand_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "k1")
    values = {
        "A": "Bearer ${env:MY_KEY}",
        "B": "${keyring:work/API_KEY}-${env:MY_KEY}",
        "C": "plain",
    }
    ring = Ring()
    found = await resolved(values, ring, "demo")
    assert found == {"A": "Bearer k1", "B": "s3cret-k1", "C": "plain"}
    assert ring.threads
    assert threading.get_ident() not in ring.threads


@pytest.mark.parametrize(
    "value",
    ["${foo:bar}", "${PATH}", "${env:OPEN", "${env:}", "$env:X", "${", "${keyring:a${env", "$${}"],
)
async def test_what_is_no_reference_of_ours_stands_as_it_is(value: str) -> None:
    assert await resolved({"A": value}, NoKeyring(), "demo") == {"A": value}
    assert names_in(value) == []


async def test_what_a_secret_holds_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTER", "${env:HOME}")
    found = await resolved({"A": "${env:OUTER}"}, NoKeyring(), "demo")
    assert found == {"A": "${env:HOME}"}


async def test_what_does_not_exist_is_reported_with_its_name_and_what_to_do() -> None:
    with pytest.raises(UserError) as variable:
        await resolved({"A": "${env:NO_SUCH_VARIABLE}"}, NoKeyring(), "demo")
    with pytest.raises(UserError) as secret:
        await resolved({"A": "${keyring:none}"}, Ring(), "demo")
    assert variable.value.details.what == "The environment variable NO_SUCH_VARIABLE is not set"
    assert variable.value.details.where == "demo"
    assert "NO_SUCH_VARIABLE" in variable.value.details.hint
    assert "'none'" in secret.value.details.what
    assert secret.value.details.hint


async def test_what_the_user_entered_is_a_secret_like_others() -> None:
    secrets: set[str] = set()
    values, asked = {"A": "Bearer ${ask:my key}"}, {"my key": "typed"}
    assert names_in(values["A"]) == [("ask", "my key")]
    found = await resolved(values, NoKeyring(), "demo", secrets, asked)
    assert found == {"A": "Bearer typed"}
    assert secrets == {"typed"}
    with pytest.raises(UserError, match="'my key' was not entered"):
        await resolved(values, NoKeyring(), "demo")


async def test_what_a_keyring_says_is_passed_on() -> None:
    with pytest.raises(UserError, match="It is locked"):
        await resolved({"A": "${keyring:refused}"}, Ring(), "demo")


async def test_who_gives_up_does_not_wait_for_the_keyring() -> None:
    release = threading.Event()

    class Slow(Ring):
        def get(self, name: str) -> str | None:
            release.wait(30)
            return None

    with anyio.move_on_after(0.05) as scope:
        await resolved({"A": "${keyring:x}"}, Slow(), "demo")
    release.set()
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("", ""),
        ("secret", DOTS),
        ("${env:X}", "${env:X}"),
        ("Bearer ${keyring:a/b}", "Bearer ${keyring:a/b}"),
        ("Bearer abc", f"Bearer {DOTS}"),
        ("a${env:X}b", f"{DOTS}${{env:X}}{DOTS}"),
        ("${env:X}${env:Y}", "${env:X}${env:Y}"),
        ("${foo:bar}", DOTS),
    ],
)
def test_values_are_shown_without_what_they_hold(value: str, shown: str) -> None:
    assert masked(value) == shown


def test_without_a_keyring_putting_is_refused() -> None:
    with pytest.raises(UserError, match="No keyring"):
        NoKeyring().put("a", "b")
