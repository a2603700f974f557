"""A server without a name is called by what its command runs."""

import pytest

from mcp_progress_monitor.tap.naming import name_of


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("weather", "weather"),
        ("/opt/db/bin/db-server -v", "db-server"),
        ("C:\\tools\\weather.exe --x", "weather"),
        ("python3 my_server.py", "my_server"),
        ("/usr/bin/python3.11 -u tools/crawl.py --depth 3", "crawl"),
        ("python -m weather.mcp", "weather.mcp"),
        ("python3 weather/server.py", "weather"),
        ("python3 server.py", "server"),
        ("python3 ./server.py", "server"),
        ("node build/index.js", "build"),
        ("npx -y @modelcontextprotocol/server-everything@1.2.0", "server-everything"),
        ("uvx mcp-server-git@latest --repository .", "mcp-server-git"),
        ("uv run weather.py", "weather"),
        ("python3", "python3"),
        ("python3 -c print(1)", "python3"),
        ("env A=1 x", "env"),
        ("", "server"),
    ],
)
def test_the_name_is_that_of_what_runs(command: str, name: str) -> None:
    assert name_of(command.split(" ")) == name
