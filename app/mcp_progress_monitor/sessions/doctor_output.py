"""What a server's own output tells of why it cannot be used: each cause with the line that says so.

Written from what the usual programs print: Python, Node.js, npm, uv, Docker, shells.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import text
from mcp_progress_monitor.sessions.doctor import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcp_progress_monitor.sessions.doctor import DoctorReport

_QUOTED: Final = 160


class _Rule(NamedTuple):
    """Words that a program prints when it has a certain trouble."""

    pattern: re.Pattern[str]
    text: str
    hint: str


def _rule(pattern: str, words: str, hint: str) -> _Rule:
    return _Rule(re.compile(pattern, re.IGNORECASE), words, hint)


_KEYS: Final = r"(api[ _-]?key|access[ _-]?token|auth[ _-]?token|credential|\w+_(KEY|TOKEN|SECRET))"
_LACK: Final = (
    r"(missing|not set|unset|required|undefined|not provided|not found|must be|is empty|no )"
)
_RULES: Final = (
    _rule(
        r"ModuleNotFoundError|No module named",
        "A Python module is missing",
        "Install it for the very Python that the command runs, or start the server with the "
        "Python of its own virtual environment.",
    ),
    _rule(
        r"Cannot find (module|package)|ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND",
        "A Node.js module is missing",
        "Run npm install in the server's folder, build it if it is TypeScript, and check the path.",
    ),
    _rule(
        r"EADDRINUSE|address already in use|address in use",
        "The port it wants to listen on is in use",
        "End the other program, which may be an earlier copy of this server, or choose another "
        "port. A server on stdio needs no port: is it started in another mode?",
    ),
    _rule(
        r"(listening|running|serving|started|available|ready)\b.{0,60}https?://|Uvicorn running",
        "It serves HTTP and not stdio",
        "Add it by its URL, or give it the arguments that choose stdio.",
    ),
    _rule(
        rf"{_KEYS}.*{_LACK}|{_LACK}.*{_KEYS}|invalid api[ _-]?key",
        "It wants a key or token that it was not given",
        "Set the variable that it names in the server's definition; a program started from the "
        "desktop does not have the variables of your terminal.",
    ),
    _rule(
        r"not a (tty|terminal)|inappropriate ioctl|requires? a (tty|terminal)|"
        r"the input device is not",
        "It asks for a terminal",
        "Start it without its interactive mode: docker run takes -i here, but not -t.",
    ),
    _rule(
        r"requires? (a different )?python|Requires-Python|python.{0,20}(is not|not) supported|"
        r"invalid syntax|unsupported operand type\(s\) for \|",
        "It needs another version of Python",
        "Name the Python to use by its whole path, or have uv choose one (uvx --python 3.12 …).",
    ),
    _rule(
        r"EBADENGINE|Unsupported engine|The engine \"node\" is incompatible|requires node",
        "It needs another version of Node.js",
        "Name the node to use by its whole path: a program started from the desktop does not see "
        "what nvm, fnm or Volta choose in your terminal.",
    ),
    _rule(
        r"npm (ERR!|error).*(404|E404)|No matching (version|distribution)|not found in the package "
        r"registry|No solution found when resolving",
        "The package does not exist under that name or version",
        "Check the name of the package among the arguments.",
    ),
    _rule(
        r"docker.sock|Cannot connect to the Docker daemon|Is the docker daemon running",
        "Docker is not running, or you may not use it",
        "Start Docker, and see whether docker ps works in a terminal.",
    ),
    _rule(
        r"unrecognized arguments?|unknown (option|argument|flag)|no such option|"
        r"the following arguments are required|missing required argument|^\s*usage:",
        "It does not take these arguments",
        "Compare the arguments with what the program's own help says.",
    ),
    _rule(
        r"command not found|: not found$|spawn \S+ ENOENT|exec: .*not found",
        "It starts another program that is not there",
        "Install that program, or put its folder into the variable PATH of the server.",
    ),
    _rule(
        r"FileNotFoundError|no such file or directory|can't open file|ENOENT",
        "It misses a file",
        "Check paths among the arguments, and the folder it is started in: relative paths count "
        "from there.",
    ),
    _rule(
        r"EACCES|EPERM|PermissionError|permission denied|operation not permitted",
        "It is not allowed what it needs",
        "Check the rights of the file it names, and of its folder.",
    ),
    _rule(
        r"heap out of memory|MemoryError|Cannot allocate memory|std::bad_alloc",
        "It ran out of memory",
        "Give it more, or less to do: node takes NODE_OPTIONS=--max-old-space-size=4096.",
    ),
    _rule(
        r"ECONNREFUSED|ETIMEDOUT|\bENOTFOUND|EAI_AGAIN|getaddrinfo|Name or service not known|"
        r"Max retries exceeded|Connection refused",
        "It cannot reach another machine or service",
        "See whether that service runs, and whether the server needs a proxy in its variables.",
    ),
)
_DOWNLOADS: Final = re.compile(
    r"need to install the following|npm (warn|notice|http)|added \d+ packages|"
    r"Resolved \d+ packages|Downloading|Installed \d+ packages|Building|Preparing packages|"
    r"Pulling from|Unable to find image",
    re.IGNORECASE,
)
_INSTALLERS: Final = frozenset(
    ("npx", "uvx", "uv", "bunx", "pnpm", "yarn", "pipx", "docker", "podman")
)


def causes(report: DoctorReport) -> Iterator[Cause]:
    """Causes whose evidence is in what the server printed."""
    yield from _of_stdout(report)
    first = [line.decode(errors="replace") for line in report.first_bytes.splitlines()]
    lines = [*report.stderr_tail, *([] if _is_json(report.first_bytes) else first)]
    for rule in _RULES:
        line = _last_match(rule.pattern, lines)
        if line is not None:
            yield Cause(f"{rule.text}: {quoted(line)}", rule.hint)


def slow_start(report: DoctorReport) -> Cause | None:
    """That it still downloads what it is to run, if anything says so."""
    if report.first_bytes:
        return None
    hint = "Wait until a first start in a terminal is through, or give it more time to connect."
    line = _last_match(_DOWNLOADS, report.stderr_tail)
    if line is not None:
        return Cause(f"It was still downloading when the time was over: {quoted(line)}", hint)
    program = re.split(r"[\\/]", report.command[0])[-1] if report.command else ""
    name = program.removesuffix(".exe").removesuffix(".cmd")
    if name in _INSTALLERS and not report.stderr_tail:
        what = f"{name} downloads what it runs, at the first start in silence"
        return Cause(f"{what}: nothing came in the time to connect", hint)
    return None


def _of_stdout(report: DoctorReport) -> Iterator[Cause]:
    raw = report.first_bytes
    if not raw or _is_json(raw):
        return
    shown = quoted_bytes(raw)
    if raw.lower().startswith(b"content-length:"):
        what = "It puts a header before each message, as language servers do"
        hint = "MCP wants one message a line and nothing else: update the server's MCP library."
    elif raw[:2] in {b"\xff\xfe", b"\xfe\xff"} or b"\x00" in raw[:4]:
        what, hint = "It writes UTF-16", "MCP wants UTF-8: set the encoding of its output."
    else:
        what = "It prints something else than messages on its standard output"
        hint = (
            "Logs belong on standard error. Check that the command starts an MCP server in its "
            "stdio mode, and that no script around it prints anything."
        )
    yield Cause(f"{what}: {shown}", hint)


def _is_json(raw: bytes) -> bool:
    return raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"{", b"["}


def _last_match(pattern: re.Pattern[str], lines: Iterable[str]) -> str | None:
    found = [line for line in lines if pattern.search(line[:2000])]
    return found[-1] if found else None


def quoted(line: str) -> str:
    """A line of a server's, in quotation marks, visible and bounded."""
    return f'"{text.one_line(line.strip(), _QUOTED)}"'


def quoted_bytes(raw: bytes) -> str:
    """The first bytes, as text where they are text, else in hexadecimal."""
    try:
        return quoted(raw[:_QUOTED].decode())
    except UnicodeDecodeError as error:
        if error.start >= _QUOTED - 4:
            return quoted(raw[: error.start].decode())
        return raw[:32].hex(" ")
