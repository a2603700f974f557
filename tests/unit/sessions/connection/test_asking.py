"""Secrets that are asked for: once for each connection, one prompt at a time."""

from collections.abc import Sequence

import anyio
import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.sessions.connection.asking import SecretsAtConnect
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, OAuthClient, StdioDefinition

pytestmark = pytest.mark.anyio

DB = StdioDefinition(
    name="db",
    command="db",
    args=("--pin", "${ask:PIN}", "${env:HOME}"),
    env={"KEY": "${ask:KEY}", "OTHER": "${keyring:x}", "AGAIN": "${ask:KEY}"},
)


class User:
    """Answers each prompt when `answer` is called."""

    def __init__(self) -> None:
        self.prompts: list[tuple[str, tuple[str, ...]]] = []
        self._answered = anyio.Event()
        self._answer: dict[str, str] | None = None

    async def __call__(self, server: str, names: Sequence[str]) -> dict[str, str] | None:
        self.prompts.append((server, tuple(names)))
        await self._answered.wait()
        self._answered = anyio.Event()
        return self._answer

    def answer(self, answer: dict[str, str] | None) -> None:
        self._answer = answer
        self._answered.set()


async def test_what_is_missing_is_asked_for_once_in_order() -> None:
    user, held = User(), dict[str, str]()
    secrets = SecretsAtConnect(user)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(secrets.ask, DB, held)
        tasks.start_soon(secrets.ask, DB, held)
        await anyio.wait_all_tasks_blocked()
        user.answer({"KEY": "k", "PIN": "p"})
    assert user.prompts == [("db", ("KEY", "PIN"))]
    assert held == {"KEY": "k", "PIN": "p"}
    await secrets.ask(DB, held)
    secrets.require(DB, held)
    assert len(user.prompts) == 1


async def test_who_cancels_is_not_asked_again_by_a_second_connect() -> None:
    user, held, errors = User(), dict[str, str](), list[str]()
    secrets = SecretsAtConnect(user)

    async def connect() -> None:
        try:
            await secrets.ask(DB, held)
        except UserError as error:
            errors.append(error.details.what)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connect)
        tasks.start_soon(connect)
        await anyio.wait_all_tasks_blocked()
        user.answer(None)
    assert errors == ["The server stays disconnected: KEY, PIN not entered"] * 2
    assert len(user.prompts) == 1
    with pytest.raises(UserError, match="KEY, PIN not entered"):
        secrets.require(DB, held)


async def test_an_empty_answer_is_none() -> None:
    user, held = User(), dict[str, str]()
    secrets = SecretsAtConnect(user)

    async def connect() -> None:
        with pytest.raises(UserError, match="KEY, PIN not entered"):
            await secrets.ask(DB, held)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connect)
        await anyio.wait_all_tasks_blocked()
        user.answer({"KEY": "k", "PIN": ""})
    assert held == {}


async def test_two_servers_are_asked_for_one_after_the_other() -> None:
    user, other = (
        User(),
        HttpDefinition(
            name="web",
            url="https://example.com/mcp",
            headers={"Authorization": "Bearer ${ask:TOKEN}"},
            auth="oauth",
            oauth=OAuthClient(client_secret="${ask:client_secret}"),
        ),
    )
    secrets, first, second = SecretsAtConnect(user), dict[str, str](), dict[str, str]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(secrets.ask, DB, first)
        tasks.start_soon(secrets.ask, other, second)
        await anyio.wait_all_tasks_blocked()
        assert [server for server, _ in user.prompts] == ["db"]
        user.answer({"KEY": "k", "PIN": "p"})
        await anyio.wait_all_tasks_blocked()
        assert user.prompts[1] == ("web", ("TOKEN", "client_secret"))
        user.answer({"TOKEN": "t", "client_secret": "c"})
    assert second == {"TOKEN": "t", "client_secret": "c"}


async def test_where_nobody_can_be_asked_the_error_says_what_to_do() -> None:
    with pytest.raises(UserError) as raised:
        await SecretsAtConnect().ask(DB, {})
    assert "needs KEY, PIN at each connection" in raised.value.details.what
    assert "on a terminal" in raised.value.details.hint
    await SecretsAtConnect().ask(DB, {"KEY": "k", "PIN": "p"})
