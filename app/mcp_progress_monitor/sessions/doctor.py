"""The connection doctor: a report on a server, with the likeliest causes and their evidence."""

from __future__ import annotations

import os
import re
import shutil
import signal
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.path_checks import (
    PathKind,
    expanded,
    is_closed,
    is_file,
    is_folder,
    is_there,
    path_kind,
)
from mcp_progress_monitor.protocol.secrets import shown_arguments
from mcp_progress_monitor.secrets.references import with_environment
from mcp_progress_monitor.snapshots.doctor import Cause, DoctorReport, EndKind, Searched
from mcp_progress_monitor.snapshots.servers import ServerState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcp_progress_monitor.sessions.connection.connection import Connection
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition, StdioDefinition
    from mcp_progress_monitor.snapshots.doctor import HttpNote
    from mcp_progress_monitor.snapshots.doctor import OpeningQuestion as Question
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_QUOTED: Final = 160


class _Rule(NamedTuple):
    """The typical output, or error, of a server with a certain fault."""

    pattern: re.Pattern[str]
    text: str
    hint: str


def _rule(pattern: str, text: str, hint: str) -> _Rule:
    return _Rule(re.compile(pattern, re.IGNORECASE), text, hint)


_KEYS: Final = r"(api[ _-]?key|access[ _-]?token|auth[ _-]?token|credential|\w+_(KEY|TOKEN|SECRET))"
_LACK: Final = (
    r"(missing|not set|unset|required|undefined|not provided|not found|must be|is empty|no )"
)
_RULES: Final = (
    _rule(
        r"ModuleNotFoundError|No module named",
        "A Python module is missing",
        "Install it for the Python that the command runs, or start the server with "
        "the Python of its virtual environment.",
    ),
    _rule(
        r"Cannot find (module|package)|ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND",
        "A Node.js module is missing",
        "Run npm install in the server's folder, build it if it is TypeScript, and check the path.",
    ),
    _rule(
        r"EADDRINUSE|address already in use|address in use",
        "Its port is already in use",
        "Stop the other program, which may be an earlier copy of this server, or "
        "choose another port. A server on stdio needs no port: it may have been "
        "started in another mode.",
    ),
    _rule(
        r"(listening|running|serving|started|available|ready)\b.{0,60}https?://|Uvicorn running",
        "It serves HTTP, not stdio",
        "Add the server by its URL, or pass the arguments that select stdio.",
    ),
    _rule(
        rf"{_KEYS}.*{_LACK}|{_LACK}.*{_KEYS}|invalid api[ _-]?key",
        "An API key or token is missing",
        "Set the variable it names in the server's definition; programs started from "
        "the desktop do not have the variables of your terminal.",
    ),
    _rule(
        r"not a (tty|terminal)|inappropriate ioctl|requires? a (tty|terminal)|"
        r"the input device is not",
        "It needs a terminal",
        "Turn off its interactive mode: with docker run, pass -i but not -t.",
    ),
    _rule(
        r"requires? (a different )?python|Requires-Python|python.{0,20}(is not|not) supported|"
        r"invalid syntax|unsupported operand type\(s\) for \|",
        "It requires another Python version",
        "Use the full path of the right Python, or let uv choose one (uvx --python 3.12 …).",
    ),
    _rule(
        r"EBADENGINE|Unsupported engine|The engine \"node\" is incompatible|requires node",
        "It requires another Node.js version",
        "Use the full path of the right node: programs started from the desktop do "
        "not see the version that nvm, fnm or Volta select in your terminal.",
    ),
    _rule(
        r"npm (ERR!|error).*(404|E404)|No matching (version|distribution)|not found in the package "
        r"registry|No solution found when resolving",
        "The package name or version does not exist",
        "Check the package name in the arguments.",
    ),
    _rule(
        r"docker.sock|Cannot connect to the Docker daemon|Is the docker daemon running",
        "Docker is not running, or you have no permission to use it",
        "Start Docker, and check that docker ps works in a terminal.",
    ),
    _rule(
        r"unrecognized arguments?|unknown (option|argument|flag)|no such option|"
        r"the following arguments are required|missing required argument|^\s*usage:",
        "It does not accept these arguments",
        "Compare the arguments with the program's own help.",
    ),
    _rule(
        r"command not found|: not found$|spawn \S+ ENOENT|exec: .*not found",
        "A program that it starts was not found",
        "Install that program, or add its folder to the server's PATH variable.",
    ),
    _rule(
        r"FileNotFoundError|no such file or directory|can't open file|ENOENT",
        "A file is missing",
        "Check the paths in the arguments and the working folder: relative paths start there.",
    ),
    _rule(
        r"EACCES|EPERM|PermissionError|permission denied|operation not permitted",
        "Permission denied",
        "Check the permissions of the file it names and of its folder.",
    ),
    _rule(
        r"heap out of memory|MemoryError|Cannot allocate memory|std::bad_alloc",
        "It ran out of memory",
        "Give it more memory or less work: for node, set NODE_OPTIONS=--max-old-space-size=4096.",
    ),
    _rule(
        r"ECONNREFUSED|ETIMEDOUT|\bENOTFOUND|EAI_AGAIN|getaddrinfo|Name or service not known|"
        r"Max retries exceeded|Connection refused",
        "It cannot reach another machine or service",
        "Check that the service is running, and whether the server needs a proxy in "
        "its environment.",
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


def output_causes(report: DoctorReport) -> Iterator[Cause]:
    yield from _of_stdout(report)
    first = [line.decode(errors="replace") for line in report.first_bytes.splitlines()]
    lines = [*report.stderr_tail, *([] if _is_json(report.first_bytes) else first)]
    for rule in _RULES:
        line = _last_match(rule.pattern, lines)
        if line is not None:
            yield Cause(f"{rule.text}: {quoted(line)}", rule.hint)


def slow_start(report: DoctorReport) -> Cause | None:
    """Return a cause if the server is still downloading the package it runs, by its output."""
    if report.first_bytes:
        return None
    hint = "Run it once in a terminal until the download finishes, or increase the connect timeout."
    line = _last_match(_DOWNLOADS, report.stderr_tail)
    if line is not None:
        return Cause(f"It was still downloading at the connect timeout: {quoted(line)}", hint)
    program = re.split(r"[\\/]", report.command[0])[-1] if report.command else ""
    name = program.removesuffix(".exe").removesuffix(".cmd")
    if name in _INSTALLERS and not report.stderr_tail:
        what = f"{name} silently downloads the server on first start"
        return Cause(f"{what}: no output before the connect timeout", hint)
    return None


def _of_stdout(report: DoctorReport) -> Iterator[Cause]:
    raw = report.first_bytes
    if not raw or _is_json(raw):
        return
    shown = quoted_bytes(raw)
    if raw.lower().startswith(b"content-length:"):
        what = "It sends a header before each message, as language servers do"
        hint = (
            "MCP requires one message per line and nothing else: update the server's MCP library."
        )
    elif raw[:2] in {b"\xff\xfe", b"\xfe\xff"} or b"\x00" in raw[:4]:
        what, hint = "It writes UTF-16", "MCP requires UTF-8: set the encoding of its output."
    else:
        what = "It prints other output than messages to stdout"
        hint = (
            "Logs belong on stderr. Check that the command starts an MCP server in stdio "
            "mode, and that no wrapper script prints anything."
        )
    yield Cause(f"{what}: {shown}", hint)


def _is_json(raw: bytes) -> bool:
    return raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"{", b"["}


def _last_match(pattern: re.Pattern[str], lines: Iterable[str]) -> str | None:
    found = [line for line in lines if pattern.search(line[:2000])]
    return found[-1] if found else None


def quoted(line: str) -> str:
    return f'"{formatting.one_line(line.strip(), _QUOTED)}"'


def quoted_bytes(raw: bytes) -> str:
    """The first bytes, as text if possible, else in hexadecimal."""
    try:
        return quoted(raw[:_QUOTED].decode())
    except UnicodeDecodeError as error:
        if error.start >= _QUOTED - 4:
            return quoted(raw[: error.start].decode())
        return raw[:32].hex(" ")


_UNREACHED: Final = (
    _rule(
        r"name or service not known|getaddrinfo|nodename nor servname|no address associated|"
        r"name resolution|could not be resolved",
        "Unknown host name",
        "Check the URL. Internal names may require a VPN.",
    ),
    _rule(
        r"self[- ]signed",
        "The server's certificate is not signed by a trusted authority",
        "Add the certificate, or its authority, to the system's trusted "
        "certificates, or set SSL_CERT_FILE to a file that contains it.",
    ),
    _rule(
        r"hostname mismatch|ip address mismatch|certificate is not valid for|doesn't match",
        "The server's certificate is for another host name",
        "Use the host name in the certificate.",
    ),
    _rule(
        r"certificate has expired|certificate is not yet valid",
        "The server's certificate has expired or is not yet valid",
        "Renew it. If it was renewed, check this computer's clock.",
    ),
    _rule(
        r"unable to get (local )?issuer|CERTIFICATE_VERIFY_FAILED|unknown ca",
        "The server's certificate cannot be verified",
        "Proxies that inspect traffic use their own authority: add it to the "
        "system's trusted certificates.",
    ),
    _rule(
        r"wrong version number|record layer failure|unknown protocol|http request to an https",
        "One side speaks TLS and the other does not",
        "Try http:// instead of https://, or the reverse, and check the port.",
    ),
    _rule(
        r"proxy",
        "The proxy rejected the request",
        "Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY in this program's environment.",
    ),
    _rule(
        r"refused|connection attempts failed|actively refused",
        "Nothing is listening at that address",
        "Start the server, and check the host and port of the URL.",
    ),
    _rule(
        r"unreachable|no route",
        "No route to that host",
        "Check the network, and whether a VPN is required.",
    ),
    _rule(
        r"timed? ?out|not answer|no answer",
        "The server does not respond",
        "Check that it is running, and that no firewall blocks it.",
    ),
    _rule(
        r"too many redirects|redirect",
        "The server redirects to another address",
        "Use the URL that it redirects to if you trust it: redirects to another host "
        "are not followed, because they would receive your credentials.",
    ),
)
_STATUS: Final = {
    401: ("It requires authentication", "Sign in, or set an Authorization header."),
    403: ("Access denied", "Check the permissions of the token or account."),
    404: (
        "Nothing found at this path",
        "The path of MCP is often /mcp, or /sse for the legacy transport.",
    ),
    405: (
        "It does not accept messages at this path",
        "It may use the legacy transport (HTTP+SSE): select that, or try the path /mcp.",
    ),
    406: (
        "It cannot return the content types that MCP requires",
        "It may not be an MCP server, or may need an update.",
    ),
    407: ("The proxy requires authentication", "Set the user name and password in HTTPS_PROXY."),
    415: ("It does not accept JSON at this path", "It may not be an MCP server: check the path."),
    421: (
        "It does not serve this host name",
        "Use the host name that the server is configured with.",
    ),
    429: ("Too many requests", "Wait, and make fewer calls at a time."),
}
_BARE_FAILURE: Final = "Internal Server Error"
_PYTHON_SDK: Final = (
    "If the server uses the Python SDK 1.8 to 1.9.4, it fails for all clients "
    "once one has disconnected. Restart it, and update its mcp package to 1.10 "
    "or newer. Otherwise check its log."
)
_SHOWN: Final = ("www-authenticate", "location", "retry-after", "content-type")


def http_causes(report: DoctorReport) -> Iterator[Cause]:
    """Causes with evidence in the last requests; the newest of each kind."""
    reported: set[str] = set()
    for note in reversed(report.http):
        for cause in _of_note(note, report):
            head = cause.text.partition(":")[0]
            if head not in reported:
                reported.add(head)
                yield cause
    if not report.http and report.error is not None:
        yield from _unreached(report.error.as_text())


def _of_note(note: HttpNote, report: DoctorReport) -> Iterator[Cause]:
    if note.status is None:
        yield from _unreached(note.text)
        return
    if 300 <= note.status < 400:
        yield from _redirected(note, report)
    elif _is_page(note):
        what = "It returned a web page instead of an MCP response"
        hint = (
            "Check the path of the URL; a login page means that the server requires "
            "signing in first."
        )
        yield Cause(f"{what}: {_evidence(note)}", hint)
    if note.status in _STATUS:
        what, hint = _STATUS[note.status]
        yield Cause(f"{what}: {_evidence(note)}", _by_path(hint, note, report))
    elif note.status >= 500:
        yield Cause(f"It failed: {_evidence(note)}", _of_failure(note))


def _of_failure(note: HttpNote) -> str:
    """Advise what to try after an internal error of the server.

    Python SDK 1.8.0 to 1.9.4 ends all sessions when a client ends its own with DELETE: from then on
    it returns 500 to everybody until it is restarted (fixed in 1.10.0).
    """
    kind = {name.lower(): value for name, value in note.headers}.get("content-type", "")
    is_plain = kind.lower().startswith("text/plain") and note.body.strip() == _BARE_FAILURE
    if note.status == 500 and is_plain:
        return _PYTHON_SDK
    return "The error is on the server or its proxy: check their logs."


def _unreached(text: str) -> Iterator[Cause]:
    for rule in _UNREACHED:
        found = next((line for line in text.splitlines() if rule.pattern.search(line)), None)
        if found is not None:
            yield Cause(f"{rule.text}: {quoted(found)}", rule.hint)
            return


def _redirected(note: HttpNote, report: DoctorReport) -> Iterator[Cause]:
    target = {name.lower(): value for name, value in note.headers}.get("location", "")
    try:
        there = urllib.parse.urlsplit(urllib.parse.urljoin(report.address, target))
        host, here = there.hostname, urllib.parse.urlsplit(report.address).hostname
    except ValueError:
        host = here = None
    what = "It redirects to another host" if host != here else "It redirects to another path"
    hint = (
        "Use the URL that it redirects to if you trust it: redirects to another host "
        "are not followed, because they would receive your credentials."
    )
    yield Cause(f"{what}: {_evidence(note)}", hint)


def _by_path(hint: str, note: HttpNote, report: DoctorReport) -> str:
    path = urllib.parse.urlsplit(report.address).path.rstrip("/")
    if note.status in {404, 405} and path.endswith("/sse"):
        return "The path ends with /sse: select the legacy transport (HTTP+SSE) for this server."
    if note.status == 404 and not path:
        return "The URL has no path: MCP is often at /mcp, or at /sse for the legacy transport."
    return hint


def _is_page(note: HttpNote) -> bool:
    kind = {name.lower(): value for name, value in note.headers}.get("content-type", "")
    body = note.body.lstrip()[:20].lower()
    return "text/html" in kind.lower() or body.startswith(("<!doctype html", "<html"))


def _evidence(note: HttpNote) -> str:
    headers = [f"{k}: {v}" for k, v in note.headers if k.lower() in _SHOWN]
    parts = [f"{note.request} gave {note.status} {note.text}".strip(), *headers]
    if note.body.strip():
        parts.append(note.body)
    return quoted("; ".join(parts))


_ELSEWHERE: Final = (
    "~/.local/bin",
    "~/.cargo/bin",
    "~/.volta/bin",
    "~/.bun/bin",
    "~/.deno/bin",
    "~/.asdf/shims",
    "~/.local/share/mise/shims",
    "~/.pyenv/shims",
    "~/.nvm/versions/node/*/bin",
    "~/.local/share/fnm/node-versions/*/installation/bin",
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/snap/bin",
)
"""Where installers put programs that a desktop program does not find."""
_SCRIPT: Final = re.compile(r"^[^-].*\.(py|js|mjs|cjs|ts|rb|sh|jar|exe)$", re.IGNORECASE)
_UNEXPANDED: Final = re.compile(r"^~[/\\]|\$(HOME|USER|PWD)\b|%(APPDATA|USERPROFILE|HOME)%")
_UNSEEN: Final = frozenset({PathKind.NOTHING, PathKind.HIDDEN})
_INTERPRETER_BYTES: Final = 256
_SIGNALS: Final = {
    "SIGSEGV": (
        "It crashed",
        "This is a bug in it or in a native module that it uses: update both.",
    ),
    "SIGBUS": (
        "It crashed",
        "This is a bug in it or in a native module that it uses: update both.",
    ),
    "SIGABRT": ("It aborted", "Its last lines on stderr may show why."),
    "SIGILL": (
        "The server was built for a different CPU (illegal instruction)",
        "Install the build for this CPU.",
    ),
    "SIGKILL": (
        "It was killed",
        "When memory runs out, the system kills the largest process: check the system log.",
    ),
    "SIGTERM": (
        "Another program stopped it",
        "Find out which: a supervisor, a script or a container.",
    ),
}


def start_causes(report: DoctorReport) -> Iterator[Cause]:
    """Causes whose evidence is on the disk."""
    yield from _of_folder(report)
    yield from _of_command(report)
    for word in report.command:
        if _UNEXPANDED.search(word):
            yield Cause(
                f"No shell is used, so this is not expanded: {quoted(word)}", "Write the full path."
            )
            break
    yield from _of_scripts(report)


def _of_folder(report: DoctorReport) -> Iterator[Cause]:
    if report.folder is None:
        return
    seen = path_kind(report.folder)
    what = seen.value if seen is not PathKind.FOLDER else "cannot be accessed: permission denied"
    if seen is not PathKind.FOLDER or is_closed(report.folder):
        yield Cause(
            f"The working folder {what}: {quoted(report.folder)}",
            "Fix the folder in the server's definition.",
        )


def _of_command(report: DoctorReport) -> Iterator[Cause]:
    command = report.command[0] if report.command else ""
    if not command:
        return
    if report.found is not None:
        yield from _of_file(Path(report.found))
    elif " " in command.strip():
        yield Cause(
            f"The command includes its arguments: {quoted(command)}",
            "Enter the program alone as the command, and each argument separately.",
        )
    elif report.searched:
        yield _not_on_path(command, report)
    elif path_kind(Path(report.folder or ".", command)) is PathKind.HIDDEN:
        hint = "Fix the path, or the permissions of its folders."
        what = "The command cannot be accessed: permission denied for a folder on its path"
        yield Cause(f"{what}: {quoted(command)}", hint)
    else:
        hint = "Fix the path, or install the program."
        yield Cause(f"File not found: {quoted(command)}", hint)


def _not_on_path(command: str, report: DoctorReport) -> Cause:
    count = len(report.searched)
    what = f"{quoted(command)} is in none of the {count} folders of PATH"
    near = _elsewhere(command)
    if near is not None:
        hint = "Programs started from the desktop have a shorter PATH than your terminal. "
        return Cause(
            f"{what}, but it exists as {near}", f"{hint}Use that full path as the command."
        )
    hint = (
        "Install it. If it works in a terminal, a version manager such as nvm or "
        "pyenv adds it to PATH only there: find its full path there (which, where), "
        "and use that."
    )
    return Cause(what, hint)


def _elsewhere(command: str) -> str | None:
    """The usual install location of this program, if it is there."""
    for pattern in _ELSEWHERE:
        place = expanded(Path(pattern))
        star = next((at for at, part in enumerate(place.parts) if part == "*"), None)
        root = place if star is None else Path(*place.parts[:star])
        tail = "" if star is None else str(Path(*place.parts[star:]))
        try:
            folders = sorted(root.glob(tail), reverse=True) if tail else [root]
        except OSError:
            continue
        for folder in folders:
            if os.access(folder / command, os.X_OK) and is_file(folder / command):
                return str(folder / command)
    return None


def _of_file(path: Path) -> Iterator[Cause]:
    if is_folder(path):
        yield Cause(f"The command is a folder: {quoted(str(path))}", "Choose a program inside it.")
        return
    if not os.access(path, os.X_OK):
        what = f"The file is not executable: {quoted(str(path))}"
        yield Cause(what, "Make it executable (chmod +x), or start it with its interpreter.")
    interpreter = _interpreter(path)
    if interpreter and interpreter.startswith("/") and path_kind(interpreter) is PathKind.NOTHING:
        what = f"The interpreter in its first line does not exist: {quoted(interpreter)}"
        yield Cause(what, "Install it, or fix the first line of the script.")


def _interpreter(path: Path) -> str:
    try:
        with path.open("rb") as file:
            first = file.readline(_INTERPRETER_BYTES)
    except OSError:
        return ""
    if not first.startswith(b"#!"):
        return ""
    # Keep the carriage return: a script with Windows line endings has an invalid interpreter.
    words = first[2:].rstrip(b"\n").decode(errors="replace").strip(" \t").split(" ")
    return words[0]


def _of_scripts(report: DoctorReport) -> Iterator[Cause]:
    """Missing files among the arguments; packages and modules are not files."""
    for word in report.command[1:]:
        if _SCRIPT.match(word) and "://" not in word and not word.startswith("@"):
            path = Path(report.folder or ".", word)
            seen = path_kind(path)
            if seen in _UNSEEN:
                what = f"A file in the arguments {seen.value}: {quoted(str(path))}"
                yield Cause(what, "Fix the path: relative paths start in the server's folder.")
            return


def causes_of_end(report: DoctorReport) -> Iterator[Cause]:
    code = report.exit_code
    if code is None:
        return
    if code < 0:
        yield from _of_signal(-code)
    elif code == 0 and not report.first_bytes:
        yield Cause(
            "It exited immediately, without an error or a message (exit code 0)",
            "The command may do one thing and exit, or require an argument that starts "
            "its MCP server (serve, mcp, stdio).",
        )
    elif code in {126, 127}:
        what = "A shell did not find" if code == 127 else "A shell could not execute"
        yield Cause(
            f"{what} a command (exit code {code})",
            "Check the commands in the script, and the PATH that it runs with.",
        )
    elif code > 0 and not report.stderr_tail:
        yield Cause(
            f"It failed without an error message (exit code {code})",
            "Run its command in a terminal to see more.",
        )


def _of_signal(number: int) -> Iterator[Cause]:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return
    if name in _SIGNALS:
        what, hint = _SIGNALS[name]
        yield Cause(f"{what} ({name})", hint)


_MOST: Final = 8


def causes_of(report: DoctorReport, definition: ServerDefinition) -> tuple[Cause, ...]:
    """Causes with their evidence, at most eight.

    A connected server has none of these, whatever it prints; only whether it still answers is
    checked.
    """
    found = dict.fromkeys(_all(report, definition))
    return tuple(found)[:_MOST]


def _all(report: DoctorReport, definition: ServerDefinition) -> Iterator[Cause]:
    yield from _of_health(report)
    if report.state is ServerState.CONNECTED:
        return
    if definition.transport != "stdio":
        yield from http_causes(report)
        return
    yield from start_causes(report)
    if report.state is ServerState.IDLE:
        return
    yield from output_causes(report)
    if report.end_kind is EndKind.TIMED_OUT:
        slow = slow_start(report)
        if slow is not None:
            yield slow
    yield from _of_pipes(report)
    if report.end_kind is EndKind.SERVER:
        yield from causes_of_end(report)


def _of_pipes(report: DoctorReport) -> Iterator[Cause]:
    hint = (
        "MCP over stdio needs both pipes while the server is running. A program that "
        "moves itself to the background closes them: keep it in the foreground."
    )
    if report.end_kind is EndKind.CLOSED_OUTPUT:
        yield Cause("It closed stdout but kept running", hint)
    elif report.end_kind is EndKind.CLOSED_INPUT:
        yield Cause("It closed stdin but kept running", hint)


def _of_health(report: DoctorReport) -> Iterator[Cause]:
    health = report.health
    if health is None or (not health.is_hung and health.answered_s is None):
        return
    if health.is_hung:
        yield Cause(
            "It hangs: calls are pending, nothing arrives, and it did not answer a ping",
            "A tool may be blocking the whole server. Restart it, or wait if this is expected.",
        )
    else:
        yield Cause(
            f"It is slow, not hung: it answered a ping in {health.answered_s:.2f} s",
            "Wait: the call is probably still being processed.",
        )


_SHORTEST_SECRET: Final = 6  # shorter values occur in too many other texts


def report_of(
    server: ServerSnapshot, connection: Connection | None, opening: tuple[Question, ...] = ()
) -> DoctorReport:
    """A report on a server; `connection` is its newest one, or None.

    `opening` lists the opening requests.
    """
    definition = server.definition
    report = _bare_report(server)
    if connection is not None:
        report = report._replace(
            pid=connection.pid,
            exit_code=connection.exit_code,
            ending=connection.reason,
            end_kind=connection.end_kind,
            stderr_tail=tuple(connection.stderr_tail),
            first_bytes=connection.first_bytes,
            secrets=_secrets_in((*report.secrets, *connection.secrets)),
            http=tuple(connection.http_notes),
            opening=opening,
        )
    return report._replace(causes=causes_of(report, definition))


def _bare_report(server: ServerSnapshot) -> DoctorReport:
    definition = server.definition
    bare = DoctorReport(
        server.name,
        server.state,
        definition.address,
        error=server.error,
        health=server.health,
        retry=server.retry,
        restarts=server.restarts,
        waiting=server.waiting,
    )
    if definition.transport != "stdio":
        return bare._replace(
            environment=tuple(definition.headers), secrets=_secrets_in(definition.headers.values())
        )
    searched = tuple(_searched(definition))
    return bare._replace(
        command=(definition.command, *shown_arguments(definition.args)),
        folder=str(Path(definition.cwd or ".").absolute()),
        found=_found(definition, searched),
        searched=searched,
        environment=tuple(sorted(definition.env)),
        secrets=_secrets_in(definition.env.values()),
    )


def _searched(definition: StdioDefinition) -> Iterator[Searched]:
    """The PATH that was searched for the command; empty if the command is a path."""
    if _is_path(definition.command):
        return
    path = with_environment(definition.env.get("PATH", os.environ.get("PATH", os.defpath)))
    for folder in dict.fromkeys(path.split(os.pathsep)):
        found = shutil.which(definition.command, path=folder) if folder else None
        yield Searched(folder, bool(folder) and is_folder(folder), found)


def _found(definition: StdioDefinition, searched: Iterable[Searched]) -> str | None:
    if not _is_path(definition.command):
        return next((place.found for place in searched if place.found is not None), None)
    path = Path(definition.cwd or ".", definition.command).absolute()
    return str(path) if is_there(path) else None


def _is_path(command: str) -> bool:
    return os.sep in command or bool(os.altsep and os.altsep in command)


def _secrets_in(values: Iterable[str]) -> tuple[str, ...]:
    found = {v for v in values if len(v) >= _SHORTEST_SECRET and "${" not in v}
    return tuple(sorted(found, key=len, reverse=True))
