"""The export goes on where it stood, and fails in the way it is instructed to."""

import json
import threading
from pathlib import Path

import mcp_types.methods
import pytest

from mcp_progress_monitor.demo.eras import ERAS
from tests.unit.demo.client import TOKEN, Client, Message, Played

CHUNKS = {"chunks": 7, "chunks_per_attempt": 3, "interval_s": 0}
REFUSED = -32602


class Export:
    """An export of seven chunks, three to an attempt, and the file it writes."""

    def __init__(self, folder: Path, **arguments: object) -> None:
        self.folder = folder
        self.client = Client(state_dir=folder)
        self.arguments = {**CHUNKS, **arguments}

    @property
    def request(self) -> Message:
        params = {"name": "resumable_export", "arguments": self.arguments}
        return self.client.message("tools/call", params, TOKEN)

    def start(self) -> Played:
        return self.client.send(self.request)

    def resume(self, token: object) -> Played:
        return self.client.resumed(self.request, token)

    def restart_server(self) -> None:
        self.client = Client(state_dir=self.folder)

    @property
    def chunks(self) -> list[int]:
        """The numbers of the chunks in the file."""
        lines = (self.folder / "export.txt").read_text().splitlines()
        return [int(line.removeprefix("chunk ")) for line in lines]


def refusal(played: Played) -> str:
    assert played.error["code"] == REFUSED
    return str(played.error["message"])


@pytest.mark.parametrize("version", ERAS["both"])
def test_every_chunk_is_written_once_in_as_many_attempts_as_it_takes(
    tmp_path: Path, version: str
) -> None:
    export = Export(tmp_path)
    export.client = Client(version, state_dir=tmp_path)
    first = export.start()
    second = export.resume(first.next_token)
    third = export.resume(second.next_token)
    assert [first.values, second.values, third.values] == [[1, 2, 3], [4, 5, 6], [7]]
    assert {tick["total"] for tick in first.ticks + second.ticks + third.ticks} == {7}
    assert third.next_token is None
    assert export.chunks == [1, 2, 3, 4, 5, 6, 7]
    for played in (first, second, third):
        mcp_types.methods.validate_server_result("tools/call", version, played.result)


def test_it_goes_on_after_the_server_was_started_again(tmp_path: Path) -> None:
    export = Export(tmp_path)
    token = export.start().next_token
    export.restart_server()
    token = export.resume(token).next_token
    export.restart_server()
    assert export.resume(token).next_token is None
    assert export.chunks == [1, 2, 3, 4, 5, 6, 7]


def test_without_a_token_it_begins_from_the_start(tmp_path: Path) -> None:
    export = Export(tmp_path)
    export.resume(export.start().next_token)
    assert export.start().values == [1, 2, 3]
    assert export.chunks == [1, 2, 3]


def test_jobs_of_different_names_are_apart(tmp_path: Path) -> None:
    one, other = Export(tmp_path, job="one"), Export(tmp_path, job="other")
    token = one.start().next_token
    other.start()
    assert refusal(other.resume(token))
    assert one.resume(token).values == [4, 5, 6]


@pytest.mark.parametrize("job", ["", "../export", "a b", "x" * 65, "a/b"])
def test_a_job_must_be_a_good_file_name(tmp_path: Path, job: str) -> None:
    assert "name" in refusal(Export(tmp_path, job=job).start())
    assert list(tmp_path.parent.glob("export*")) == []


def test_parameters_must_be_those_of_the_first_request(tmp_path: Path) -> None:
    export = Export(tmp_path)
    token = export.start().next_token
    export.arguments["chunks"] = 8
    assert "parameters" in refusal(export.resume(token))
    export.arguments["chunks"] = 7
    assert export.resume(token).values == [4, 5, 6]


def test_the_order_of_arguments_is_no_difference(tmp_path: Path) -> None:
    export = Export(tmp_path)
    token = export.start().next_token
    export.arguments = dict(reversed(export.arguments.items()))
    assert export.resume(token).values == [4, 5, 6]


@pytest.mark.parametrize("token", ["made-up", "", 7, None, {}])
def test_a_token_that_was_never_given_out_is_refused(tmp_path: Path, token: object) -> None:
    export = Export(tmp_path)
    assert refusal(export.resume(token))
    export.start()
    assert refusal(export.resume(token))
    assert export.chunks == [1, 2, 3]


def test_a_token_of_a_finished_export_is_refused(tmp_path: Path) -> None:
    export = Export(tmp_path, chunks_per_attempt=6)
    token = export.start().next_token
    assert export.resume(token).next_token is None
    assert "complete" in refusal(export.resume(token))
    assert export.chunks == [1, 2, 3, 4, 5, 6, 7]


def test_an_earlier_token_writes_no_chunk_again(tmp_path: Path) -> None:
    export = Export(tmp_path)
    first = export.start().next_token
    export.resume(first)
    assert export.resume(first).values == [7]
    assert export.chunks == [1, 2, 3, 4, 5, 6, 7]


def test_half_a_line_that_a_crash_left_is_written_again(tmp_path: Path) -> None:
    export = Export(tmp_path)
    token = export.start().next_token
    with (tmp_path / "export.txt").open("a") as file:
        file.write("chu")
    assert export.resume(token).values == [4, 5, 6]
    assert export.chunks == [1, 2, 3, 4, 5, 6]


def test_a_cancelled_attempt_loses_no_chunk(tmp_path: Path) -> None:
    export = Export(tmp_path, interval_s=0.03)
    token = export.start().next_token
    request = export.request
    params = {**request["params"], "_meta": {"progressToken": TOKEN, "resumeToken": token}}
    export.client.server.receive(json.dumps({**request, "params": params}).encode())
    export.client.sink.wait_for(lambda written: b'"progress":4' in written)
    export.client.cancel(request["id"])
    stood = len(export.chunks)
    assert stood < 7
    rest = export.resume(token)
    assert rest.values[0] == stood + 1
    assert export.chunks[:6] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("interrupter", ["same server", "other server"])
def test_two_attempts_at_once_are_reported_apart(
    tmp_path: Path, interrupter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.demo.resumption._LOCKED_S", 0.05)
    export = Export(tmp_path, interval_s=30)
    client = export.client
    request_id = client.begin("tools/call", export.request["params"], TOKEN)
    _wait_for_attempt(tmp_path / "export.json", 1)
    if interrupter == "other server":
        export.restart_server()
    request = export.request
    export.client.server.receive(json.dumps(request).encode())
    export.client.sink.wait_for(lambda written: b"Another attempt" in written)
    client.cancel(request_id)


def _wait_for_attempt(state: Path, number: int) -> None:
    """Wait until that attempt has begun; only the file tells."""
    pause = threading.Event()
    for _ in range(1_000):
        if state.exists() and json.loads(state.read_bytes())["attempts"] == number:
            return
        pause.wait(0.01)
    raise AssertionError(f"Attempt {number} did not begin")


def test_tokens_are_new_each_time_by_default(tmp_path: Path) -> None:
    export = Export(tmp_path)
    first = export.start().next_token
    assert first != export.resume(first).next_token
    assert "export" not in first
