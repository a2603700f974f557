"""Servers that nobody here wrote: how each is installed, started, called and called for long.

They are installed by name from the package registries into a folder that is kept, so that the
second run of the campaign starts at once: `STRANGERS_FOLDER`, or `build/strangers` in the checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
FOLDER = Path(os.environ.get("STRANGERS_FOLDER", _ROOT / "build" / "strangers"))
_INSTALL_LIMIT_S = 600

HttpKind = Literal["http", "sse"]
Kind = Literal["stdio", "http", "sse"]


class NotAvailableError(Exception):
    """The server cannot be installed on this machine; the message says why."""


@dataclass(frozen=True)
class Tool:
    """A call that shows something: its arguments, and how many ticks they bring.

    `long` are arguments with which the tool runs for minutes, so that it can be cancelled.
    `may_fail` allows an answer that is an error: what the tool needs may not be on the machine.
    `is_late` is a tool whose ticks come together with its reply, because something holds them back;
    with `may_be_more` the server adds ticks of its own.
    """

    name: str
    arguments: Mapping[str, Any]
    ticks: int = 0
    long: Mapping[str, Any] | None = None
    may_fail: bool = False
    is_late: bool = False
    may_be_more: bool = False

    def has_all(self, ticks: int) -> bool:
        """Tell whether a call that brought so many ticks brought all of them."""
        return ticks == self.ticks or (self.may_be_more and ticks > self.ticks)


_COUNT = Tool("count", {"to": 3}, ticks=3, long={"to": 1000, "pause_s": 0.2})
_SILENT_COUNT = Tool("count", {"to": 3}, long={"to": 1000, "pause_s": 0.2})
"""Python SDK 1.0 loses `_meta` while it reads a request: no server on it can learn of a token."""


@dataclass(frozen=True)
class Stranger:
    """One server: its packages, its command, and its commands over HTTP by kind of transport.

    In a command `{folder}` is where its packages are, `{port}` the port to listen on, `{front}` the
    one that clients use, `{scratch}` a folder of the test's own and `{web}` the address of a web
    page. Without a command it has no stdio. Over the kinds in `silent_over` it passes no progress
    on. `violated` are the rules that `check` rightly finds violated.
    """

    name: str
    packages: tuple[str, ...]
    command: tuple[str, ...]
    tool: Tool = _COUNT
    over_http: Mapping[HttpKind, tuple[str, ...]] = field(default_factory=dict)
    path: str = "/mcp"
    registry: Literal["pip", "npm", "go"] = "pip"
    environment: Mapping[str, str] = field(default_factory=dict)
    silent_over: frozenset[Kind] = frozenset()
    violated: frozenset[str] = frozenset()

    @property
    def folder(self) -> Path:
        """Where the packages are installed."""
        return FOLDER / self.name

    def tool_over(self, kind: Kind) -> Tool:
        """The call that shows something over this kind of transport."""
        return replace(self.tool, ticks=0) if kind in self.silent_over else self.tool

    def install(self) -> None:
        """Install the packages, unless they are there.

        Raises:
            NotAvailableError: Node.js is missing, or the registry refused.
        """
        if self.registry == "go" and (self.folder / "stranger").exists():
            return  # built before, or put there by hand where Go's modules cannot be fetched
        done = self.folder / "installed.txt"
        wanted = "\n".join(self.packages)
        if not done.exists() or done.read_text(encoding="utf-8") != wanted:
            self.folder.mkdir(parents=True, exist_ok=True)
            for command in self._installation():
                _run(command, self.folder)
            done.write_text(wanted, encoding="utf-8")
        if self.registry == "npm":
            # Node finds packages from where the program lies.
            for program in PROGRAMS.glob("*.mjs"):
                shutil.copy(program, self.folder)

    def _installation(self) -> Iterator[list[str]]:
        if self.registry == "pip":
            yield [sys.executable, "-m", "venv", str(self.folder)]
            yield [str(self.folder / "bin" / "python"), *_PIP_INSTALL, *self.packages]
            return
        if self.registry == "go":
            go = shutil.which("go")
            if go is None:
                raise NotAvailableError("Go is needed")
            shutil.copytree(PROGRAMS / "go", self.folder, dirs_exist_ok=True)
            yield [go, "mod", "tidy"]
            yield [go, "build", "-o", "stranger", "."]
            return
        npm = shutil.which("npm")
        if npm is None or shutil.which("node") is None:
            raise NotAvailableError("Node.js with npm is needed")
        (self.folder / "package.json").write_text('{"private": true}', encoding="utf-8")
        yield [npm, "install", "--no-audit", "--no-fund", "--silent", *self.packages]


_PIP_INSTALL = ("-m", "pip", "--disable-pip-version-check", "-q", "install")


def _run(command: list[str], folder: Path) -> None:
    try:
        ran = subprocess.run(
            command, cwd=folder, capture_output=True, check=False, timeout=_INSTALL_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise NotAvailableError(f"{command[-1]} took over {_INSTALL_LIMIT_S} s") from error
    if ran.returncode:
        raise NotAvailableError(f"{command[-1]}: {ran.stderr.decode(errors='replace')[-500:]}")


def _python(
    name: str, program: str, *packages: str, kinds: tuple[HttpKind, ...], tool: Tool = _COUNT
) -> Stranger:
    command = ("{folder}/bin/python", str(PROGRAMS / program))
    over_http = {kind: (*command, kind, "{port}") for kind in kinds}
    return Stranger(name, packages, command, tool, over_http=over_http)


def _python_v1(version: str, *kinds: HttpKind, pydantic: str = "pydantic<2.12") -> Stranger:
    # These versions use names inside pydantic that newer ones no longer have.
    tool = _SILENT_COUNT if version == "1.0.0" else _COUNT
    packages = (f"mcp=={version}", pydantic, "uvicorn")  # which 1.0 does not bring
    return _python(f"python-{version}", "python_v1.py", *packages, kinds=kinds, tool=tool)


def _typescript_v1(version: str, *kinds: HttpKind) -> Stranger:
    command = ("node", "{folder}/typescript_v1.mjs")
    return Stranger(
        f"typescript-{version}",
        (f"@modelcontextprotocol/sdk@{version}",),
        command,
        over_http={kind: (*command, kind, "{port}") for kind in kinds},
        registry="npm",
    )


_OFFICIAL = "{folder}/node_modules/@modelcontextprotocol"
_EVERYTHING = ("node", f"{_OFFICIAL}/server-everything/dist/index.js")
_PLAYWRIGHT = ("node", "{folder}/node_modules/@playwright/mcp/cli.js", "--headless")
_KUBERNETES = ("node", "{folder}/node_modules/mcp-server-kubernetes/dist/index.js")
_MONGODB = ("node", "{folder}/node_modules/mongodb-mcp-server/dist/index.js")
_BRIDGED = (sys.executable, str(PROGRAMS / "bridged.py"), "{port}")
"""Runs two commands, divided by `--`: a server over HTTP, and its bridge to stdio."""
_SUPERGATEWAY = ("node", "{folder}/node_modules/supergateway/dist/index.js", "--logLevel", "none")
_TO_HTTP = (*_SUPERGATEWAY, "--stdio", "node {folder}/typescript_v1.mjs", "--port", "{port}")
_FASTAPI_MCP = ("{folder}/bin/python", str(PROGRAMS / "fastapi_mcp_any.py"))
_MCP_PROXY = "{folder}/bin/mcp-proxy"
_BEHIND_PROXY = ("{folder}/bin/python", str(PROGRAMS / "python_v1.py"))
_PROXIED = (_MCP_PROXY, "--port", "{port}", "--", *_BEHIND_PROXY)


def _framework(
    name: str,
    program: str,
    *packages: str,
    kinds: Mapping[HttpKind, str],
    tool: Tool = _COUNT,
    has_stdio: bool = True,
) -> Stranger:
    """A server on a framework for Node.js; `kinds` says what it calls each kind of HTTP."""
    command = ("node", f"{{folder}}/{program}")
    return Stranger(
        name,
        packages,
        command if has_stdio else (),
        tool,
        over_http={kind: (*command, word, "{port}") for kind, word in kinds.items()},
        registry="npm",
        environment={"NODE_ENV": "production"},
    )


STRANGERS: tuple[Stranger, ...] = (
    _python_v1("1.0.0", "sse", pydantic="pydantic<2.11"),
    _python_v1("1.2.0", "sse", pydantic="pydantic<2.11"),
    _python_v1("1.6.0", "sse", pydantic="pydantic<2.11"),
    _python_v1("1.9.3", "sse", "http"),
    _python_v1("1.13.1", "sse", "http"),
    _python_v1("1.30.0", "sse", "http", pydantic="pydantic"),
    _python("python-2.0.0", "python_v2.py", "mcp==2.0.0", kinds=("http",)),
    _python("python-newest", "python_v2.py", "mcp", kinds=("http",)),
    _python("fastmcp-2", "fastmcp_any.py", "fastmcp>=2,<3", kinds=("http",)),
    _python("fastmcp-3", "fastmcp_any.py", "fastmcp>=3,<4", kinds=("http",)),
    _python("fastmcp-4", "fastmcp_any.py", "fastmcp>=4,<5", kinds=("http",)),
    _typescript_v1("1.0.4", "sse"),
    _typescript_v1("1.17.5", "sse", "http"),
    _typescript_v1("1", "sse", "http"),
    Stranger(
        "typescript-2",
        ("@modelcontextprotocol/server@2", "@modelcontextprotocol/node", "zod"),
        ("node", "{folder}/typescript_v2.mjs"),
        over_http={"http": ("node", "{folder}/typescript_v2.mjs", "http", "{port}")},
        registry="npm",
    ),
    Stranger(
        "everything",
        ("@modelcontextprotocol/server-everything",),
        (*_EVERYTHING, "stdio"),
        Tool(
            "trigger-long-running-operation",
            {"duration": 1, "steps": 4},
            ticks=4,
            long={"duration": 120, "steps": 240},
        ),
        over_http={"http": (*_EVERYTHING, "streamableHttp"), "sse": (*_EVERYTHING, "sse")},
        registry="npm",
        environment={"PORT": "{port}"},
    ),
    Stranger(
        "filesystem",
        ("@modelcontextprotocol/server-filesystem",),
        ("node", f"{_OFFICIAL}/server-filesystem/dist/index.js", "{scratch}"),
        Tool("list_allowed_directories", {}),
        registry="npm",
    ),
    Stranger(
        "memory",
        ("@modelcontextprotocol/server-memory",),
        ("node", f"{_OFFICIAL}/server-memory/dist/index.js"),
        Tool("read_graph", {}),
        registry="npm",
        environment={"MEMORY_FILE_PATH": "{scratch}/memory.json"},
    ),
    Stranger(
        "git",
        ("mcp-server-git",),
        ("{folder}/bin/python", "-m", "mcp_server_git"),
        Tool("git_status", {"repo_path": "{scratch}"}),
    ),
    Stranger(
        "fetch",
        ("mcp-server-fetch",),
        (
            "{folder}/bin/python",
            "-m",
            "mcp_server_fetch",
            "--ignore-robots-txt",
            "--allow-private-ips",
        ),
        Tool("fetch", {"url": "{web}"}),
    ),
    Stranger(
        "time",
        ("mcp-server-time",),
        ("{folder}/bin/python", "-m", "mcp_server_time", "--local-timezone", "UTC"),
        Tool("get_current_time", {"timezone": "UTC"}),
    ),
    Stranger(
        "playwright",
        ("@playwright/mcp",),
        _PLAYWRIGHT,
        Tool("browser_close", {}, may_fail=True),  # without a browser
        over_http={"http": (*_PLAYWRIGHT, "--port", "{port}", "--allowed-hosts", "*")},
        registry="npm",
    ),
    Stranger(
        "go",
        (),
        ("{folder}/stranger",),
        over_http={"http": ("{folder}/stranger", "http", "{port}")},
        path="/",
        registry="go",
    ),
    # On the official Go SDK as well, and installed without Go.
    Stranger(
        "kubernetes",
        ("kubernetes-mcp-server",),
        (
            "node",
            "{folder}/node_modules/kubernetes-mcp-server/bin/index.js",
            "--kubeconfig",
            "{scratch}/kubeconfig",
        ),
        Tool("configuration_view", {}),
        registry="npm",
    ),
    _framework(
        "fastmcp-typescript", "fastmcp.mjs", "fastmcp", "zod", kinds={"http": "http", "sse": "sse"}
    ),
    _framework(
        "mcp-framework",
        "mcp_framework.mjs",
        "mcp-framework",
        "zod@3",  # the one that it recognises
        kinds={"http": "http-stream", "sse": "sse"},
    ),
    _framework(
        "mcp-use",
        "mcp_use.mjs",
        "mcp-use",
        "zod",
        kinds={"http": "http"},
        tool=replace(_COUNT, is_late=True),
        has_stdio=False,
    ),
    Stranger(
        "gradio",
        ("gradio[mcp]",),
        (),
        Tool(
            "count",
            {"to": 3, "pause_s": 0.5},  # faster ones become one
            ticks=3,
            long={"to": 1000, "pause_s": 0.2},
            may_be_more=True,
        ),
        over_http={"http": ("{folder}/bin/python", str(PROGRAMS / "gradio_any.py"), "{port}")},
        path="/gradio_api/mcp/",
        environment={"GRADIO_ANALYTICS_ENABLED": "False"},
    ),
    Stranger(
        "fastapi-mcp",
        ("fastapi-mcp", "mcp<2"),
        (),
        _SILENT_COUNT,
        over_http={
            "http": (*_FASTAPI_MCP, "http", "{port}"),
            "sse": (*_FASTAPI_MCP, "sse", "{port}"),
        },
    ),
    Stranger(
        "supergateway",
        ("supergateway", "@modelcontextprotocol/sdk@1"),
        (
            *(*_BRIDGED, "node", "{folder}/typescript_v1.mjs", "http", "{port}", "--"),
            *(*_SUPERGATEWAY, "--streamableHttp", "http://127.0.0.1:{port}/mcp"),
        ),
        over_http={
            "http": (*_TO_HTTP, "--outputTransport", "streamableHttp"),
            "sse": (*_TO_HTTP, "--outputTransport", "sse"),
        },
        registry="npm",
        silent_over=frozenset({"stdio"}),  # it brings replies there, and no notifications
    ),
    Stranger(
        "mcp-proxy",
        ("mcp-proxy",),
        (
            *(*_BRIDGED, *_BEHIND_PROXY, "http", "{port}", "--"),
            *(_MCP_PROXY, "--transport", "streamablehttp", "http://127.0.0.1:{port}/mcp"),
        ),
        # It loses progress that it reads together with the reply.
        replace(_COUNT, arguments={"to": 3, "pause_s": 0.3}),
        over_http={"http": _PROXIED, "sse": _PROXIED},
        silent_over=frozenset({"http"}),  # its answers are JSON, without a stream
    ),
    Stranger(
        "mcp-server-kubernetes",
        ("mcp-server-kubernetes",),
        _KUBERNETES,
        Tool("ping", {}),  # without a cluster
        over_http={
            "http": ("env", "ENABLE_UNSAFE_STREAMABLE_HTTP_TRANSPORT=1", *_KUBERNETES),
            "sse": ("env", "ENABLE_UNSAFE_SSE_TRANSPORT=1", *_KUBERNETES),
        },
        registry="npm",
        environment={
            "PORT": "{port}",
            "KUBECONFIG": "{scratch}/kubeconfig",
            "DNS_REBINDING_ALLOWED_HOST": "127.0.0.1:{front}",
        },
    ),
    Stranger(
        "mongodb",
        ("mongodb-mcp-server",),
        _MONGODB,
        Tool("list-databases", {"connectionId": "none"}, may_fail=True),  # without a database
        over_http={"http": (*_MONGODB, "--transport", "http", "--httpPort", "{port}")},
        registry="npm",
        environment={"MDB_MCP_TELEMETRY": "disabled"},
    ),
    Stranger(
        "angular",
        ("@angular/cli",),
        ("node", "{folder}/node_modules/@angular/cli/bin/ng.js", "mcp"),
        Tool("get_best_practices", {}),
        registry="npm",
        environment={"NG_CLI_ANALYTICS": "false"},
        violated=frozenset({"OUT-1"}),  # two required members are left out where they are empty
    ),
)
