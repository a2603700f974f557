"""Servers with events and skills, in both eras, on stdio and over HTTP."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
import pytest

from tests.integration.commands import run
from tests.integration.http_servers import http_server
from tests.servers.definition import COMMAND

_SERVER = (*COMMAND, "--profile", "events")
_STREAM = json.dumps({"name": "build.finished", "arguments": {"count": 3, "every_ms": 400}})
_OTHERS: Final[Sequence[tuple[str, dict[str, Any], str]]] = (
    ("events/list", {}, "events"),
    ("events/poll", {"name": "build.finished", "cursor": None}, "nextPollMs"),
    (
        "events/subscribe",
        {"name": "build.finished", "delivery": {"url": "https://example.com/hook"}},
        "refreshBefore",
    ),
    ("skills/list", {}, "skills"),
    ("skills/get", {"uri": "skill://refunds/SKILL.md"}, "skill"),
)


@pytest.mark.anyio
async def test_requests_of_the_extensions_can_be_sent_over_http(tmp_path: Path) -> None:
    async with http_server("--profile", "events") as server:
        for method, params, member in _OTHERS[1:4]:
            where = ("--data-dir", str(tmp_path), "--era", "per-request", "--url", server.url)
            arguments = ("request", method, "--params", json.dumps(params), *where)
            ran = await anyio.to_thread.run_sync(partial(run, *arguments))
            assert (ran.code, ran.err.count("Error")) == (0, 0)
            assert member in json.loads(ran.out)


@pytest.mark.parametrize("era", ["handshake", "per-request"])
class TestOverHttp:
    @pytest.mark.anyio
    async def test_a_stream_stays_open_until_the_server_ends_it(
        self, tmp_path: Path, era: str
    ) -> None:
        async with http_server("--profile", "events") as server:
            where = ("--data-dir", str(tmp_path), "--era", era, "--json", "--url", server.url)
            arguments = ("request", "events/stream", "--params", _STREAM, *where)
            ran = await anyio.to_thread.run_sync(partial(run, *arguments))
        assert ran.code == 0
        assert [part["params"].get("eventId") for part in ran.only("part")][1:] == [
            "evt-1",
            "evt-2",
            "evt-3",
        ]
        assert ran.only("finding") == []


@pytest.mark.parametrize("era", ["handshake", "per-request"])
class TestOnStdio:
    def test_the_events_of_a_stream_are_printed_until_it_ends(
        self, tmp_path: Path, era: str
    ) -> None:
        where = ("--data-dir", str(tmp_path), "--era", era, "--json")
        ran = run("request", "events/stream", "--params", _STREAM, *where, "--", *_SERVER)
        assert ran.code == 0
        parts = [part["params"].get("eventId") for part in ran.only("part")]
        assert parts == [None, "evt-1", "evt-2", "evt-3"]
        assert ran.only("finding") == []

    @pytest.mark.parametrize(("method", "params", "member"), _OTHERS)
    def test_every_other_request_of_the_extensions_can_be_sent(
        self, tmp_path: Path, era: str, method: str, params: dict[str, object], member: str
    ) -> None:
        where = ("--data-dir", str(tmp_path), "--era", era)
        ran = run("request", method, "--params", json.dumps(params), *where, "--", *_SERVER)
        assert ran.code == 0
        assert member in json.loads(ran.out)
