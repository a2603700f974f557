"""A server that is reached by a URL, in a program and on a command line: without its secrets."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.text import one_line

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject

_NO_NAME: Final = re.compile(r"[^A-Z0-9]+")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
"""What HTTP takes for a name (RFC 9110, 5.1): a recording may hold anything."""
_LONGEST_URL: Final = 8000
_MOST_HEADERS: Final = 100


class ServerLines(NamedTuple):
    """What a program says of its server: the code that names it, and what that needs before.

    `note` is for the program's own description.
    """

    code: str
    imports: str = ""
    client: str = "from mcp import Client, StdioServerParameters"
    note: str = ""


def variable_of(header: str) -> str:
    """The variable of the environment that a header's value is taken from."""
    return f"HEADER_{_NO_NAME.sub('_', header.upper()).strip('_')}"


def http_lines(url: str, headers: list[str], opened: JsonObject) -> ServerLines:
    """The lines for a server at `url`, which is clean of secrets; of headers only the names.

    `opened` is the event that tells how the connection was made.
    """
    names = _names(headers, signs_in=opened.get("auth") == "oauth")
    note = f"From a terminal, the same server: {command_line(url, names)}\n"
    note = note.replace("\\", "\\\\").replace('"""', "'''")
    is_older = opened.get("transport") == "sse"
    if not names and not is_older:
        return ServerLines(f"server = {url!r}\n", "", "from mcp import Client", note)
    code = f"url = {url!r}\n{_given(names)}"
    imports = "import os\n" if names else ""
    if is_older:
        client = "from mcp import Client\nfrom mcp.client.sse import sse_client"
        given = ", headers=headers" if names else ""
        return ServerLines(f"{code}server = sse_client(url{given})\n", imports, client, note)
    client = (
        "import httpx2\n"
        "from mcp import Client\n"
        "from mcp.client.streamable_http import streamable_http_client"
    )
    code += (
        "http_client = httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30, read=300))\n"
        "server = streamable_http_client(url, http_client=http_client)\n"
    )
    return ServerLines(code, imports, client, note)


def command_line(url: str, headers: list[str]) -> str:
    """The words that reach the same server with this program; values of headers are references."""
    words = ["mcp-progress-monitor", "tools", "--url", one_line(url, _LONGEST_URL)]
    for name in headers:
        words += ["--header", f"{name}: ${{env:{variable_of(name)}}}"]
    return shlex.join(words)


def _given(names: list[str]) -> str:
    """The headers, from the environment."""
    if not names:
        return ""
    items = "".join(f"    {name!r}: os.environ[{variable_of(name)!r}],\n" for name in names)
    words = (
        "# These headers were sent. Their values are never recorded: they are taken from the\n"
        "# environment that this program runs in.\n"
    )
    return f"{words}headers = {{\n{items}}}\n"


def _names(headers: list[str], *, signs_in: bool) -> list[str]:
    names = [name for name in headers if _HEADER_NAME.fullmatch(name)][:_MOST_HEADERS]
    is_given = any(name.lower() == "authorization" for name in names)
    return names if is_given or not signs_in else [*names, "Authorization"]
