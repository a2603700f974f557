"""Where a tap listens: at the port of its URL, at another if that is taken, or as given."""

from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.tap_http.program import HttpTap, TapOptions

URL = "https://mcp.example.com/mcp"


async def listening(options: TapOptions) -> tuple[HttpTap, anyio.Event]:
    tap = HttpTap(options, lambda _: None)
    await tap.open()
    return tap, anyio.Event()


async def end(tap: HttpTap, stop: anyio.Event) -> None:
    stop.set()
    await tap.run(stop)


async def test_the_port_of_a_url_is_the_same_each_time(tmp_path: Path) -> None:
    first, stop = await listening(TapOptions(URL, data_dir=tmp_path))
    await end(first, stop)
    again, stop = await listening(TapOptions(URL, data_dir=tmp_path))
    assert again.addresses.own == first.addresses.own
    assert 20_000 <= again.addresses.listening.port < 30_000
    other, other_stop = await listening(TapOptions(URL, data_dir=tmp_path))
    assert other.addresses.own != again.addresses.own, "it is taken"
    await end(other, other_stop)
    await end(again, stop)


async def test_a_port_that_was_asked_for_and_is_taken_is_refused(tmp_path: Path) -> None:
    tap, stop = await listening(TapOptions(URL, listen="127.0.0.1:0", data_dir=tmp_path))
    wanted = f"127.0.0.1:{tap.addresses.listening.port}"
    with pytest.raises(UserError) as caught:
        await HttpTap(TapOptions(URL, listen=wanted, data_dir=tmp_path), lambda _: None).open()
    assert "Cannot listen on 127.0.0.1 port" in caught.value.details.what
    await end(tap, stop)


async def test_the_recording_is_called_as_the_server(tmp_path: Path) -> None:
    for name, part in ((None, "mcp.example.com"), ("mine", "mine")):
        tap, stop = await listening(
            TapOptions(URL, listen="127.0.0.1:0", name=name, data_dir=tmp_path)
        )
        await end(tap, stop)
        assert tap.recording is not None
        assert tap.recording.name.endswith(f"-{part}.mcprec")
