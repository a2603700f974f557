"""What the files of all clients in `files` hold: whose, which servers, which are disabled."""

from typing import Any, Final

BEARER = "Bearer ${env:GITHUB_TOKEN}"

EXPECTED: Final[dict[str, tuple[str, dict[str, dict[str, Any]], set[str]]]] = {
    "claude_desktop_config.json": (
        "claude-desktop",
        {
            "filesystem": {
                "command": "npx",
                "args": (
                    "-y",
                    "@modelcontextprotocol/server-filesystem",
                    "/srv/ada/Documents",
                    "/srv/ada/My Notes",
                ),
            },
            "weather": {
                "command": "/srv/ada/.local/bin/uv",
                "args": ("--directory", "/srv/ada/src/weather", "run", "weather.py"),
                "env": {
                    "WEATHER_API_KEY": "wk-5f1c0d9e77",
                    "UNITS": "metric",
                    "TEMPLATE": "${NAME}",
                },
            },
            "crm": {
                "command": "npx",
                "args": ("mcp-remote", "https://crm.example.com/mcp", "--header", "X-Tenant:acme"),
            },
        },
        set(),
    ),
    "claude.json": (
        "claude-code",
        {
            "github": {
                "url": "https://api.githubcopilot.com/mcp/",
                "headers": {"Authorization": BEARER},
            },
            "events": {"transport": "sse", "url": "https://events.example.com/sse"},
            "db": {
                "command": "npx",
                "args": ("-y", "db-server", "--dsn", "postgres://localhost/shop"),
                "env": {"PGPASSWORD": "${env:PGPASSWORD}", "LEVEL": "info"},
                "cwd": "/srv/ada/shop",
            },
            "github (shop)": {"command": "./tools/github.sh", "cwd": "/srv/ada/shop"},
        },
        {"db"},
    ),
    "project.mcp.json": (
        "claude-code",
        {
            "tracker": {
                "url": "https://tracker.example.com/mcp",
                "auth": "oauth",
                "oauth": {"client_id": "tracker-app", "scope": "read write"},
            },
            "local": {"command": "python3", "args": ("server.py",)},
        },
        set(),
    ),
    "vscode.mcp.json": (
        "vscode",
        {
            "perplexity": {
                "command": "npx",
                "args": ("-y", "server-perplexity-ask", "--region=${input:region}"),
                "env": {"PERPLEXITY_API_KEY": "${input:perplexity-key}", "PORT": "8080"},
            },
            "fetch": {
                "command": "uvx",
                "args": ("mcp-server-fetch",),
                "cwd": "${workspaceFolder}/tools",
            },
            "github": {"url": "https://api.githubcopilot.com/mcp"},
            "figma": {
                "transport": "sse",
                "url": "http://127.0.0.1:3845/sse",
                "headers": {"X-Token": "Bearer ${env:FIGMA_TOKEN}"},
            },
        },
        set(),
    ),
    "vscode_settings.json": (
        "vscode",
        {
            "time": {
                "command": "docker",
                "args": ("run", "-i", "--rm", "-v", "${PWD}:/w", "mcp/time"),
            }
        },
        set(),
    ),
    "mcp_config.json": (
        "windsurf",
        {
            "remote-http": {
                "url": "https://mcp.example.org/mcp",
                "headers": {"API_KEY": "Bearer ${env:AUTH_TOKEN}"},
            },
            "github": {
                "command": "docker",
                "args": (
                    "run",
                    "-i",
                    "--rm",
                    "-e",
                    "GITHUB_PERSONAL_ACCESS_TOKEN",
                    "ghcr.io/github/github-mcp-server",
                ),
                "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_0123456789abcdef"},
            },
        },
        {"github"},
    ),
    "cline_mcp_settings.json": (
        "cline",
        {
            "notes": {
                "command": "node",
                "args": ("/srv/ada/notes/build/index.js",),
                "env": {"NOTES_TOKEN": "n0t3s"},
            },
            "stream": {
                "url": "https://stream.example.com/mcp",
                "headers": {"Authorization": "Bearer abc.def"},
            },
            "legacy": {"transport": "sse", "url": "https://legacy.example.com/events"},
        },
        {"stream"},
    ),
    "gemini_settings.json": (
        "gemini",
        {
            "python": {
                "command": "python",
                "args": ("-m", "my_mcp_server", "--port", "8080"),
                "cwd": "/srv/ada/mcp-servers/python",
                "env": {
                    "DATABASE_URL": "${env:DB_CONNECTION_STRING}",
                    "API_KEY": "${env:EXTERNAL_API_KEY}",
                },
            },
            "web": {
                "url": "http://localhost:3000/mcp",
                "headers": {"Authorization": "Bearer ${env:WEB_TOKEN}"},
            },
            "events": {"transport": "sse", "url": "http://localhost:8080/sse"},
            "discovered": {"url": "https://api.example.com/mcp", "auth": "oauth"},
            "forgotten": {"command": "uvx", "args": ("forgotten",)},
        },
        {"events", "forgotten"},
    ),
    "codex.toml": (
        "codex",
        {
            "context7": {
                "command": "npx",
                "args": ("-y", "@upstash/context7-mcp"),
                "env": {"MY_ENV_VAR": "MY_ENV_VALUE"},
                "connect_timeout_s": 20,
            },
            "figma": {
                "url": "https://mcp.figma.com/mcp",
                "headers": {
                    "X-Figma-Region": "us-east-1",
                    "X-Team": "${env:FIGMA_TEAM}",
                    "Authorization": "Bearer ${env:FIGMA_OAUTH_TOKEN}",
                },
            },
            "with spaces": {
                "url": "https://spaces.example.com/mcp",
                "auth": "oauth",
                "oauth": {"scope": "a b"},
            },
            "chrome_devtools": {
                "command": r"C:\Program Files\nodejs\npx.cmd",
                "args": ("chrome-devtools-mcp@latest",),
                "cwd": "/tmp/devtools",  # noqa: S108
                "connect_timeout_s": 20,
            },
        },
        {"with spaces"},
    ),
    "zed_settings.json": (
        "zed",
        {
            "local": {
                "command": "some-command",
                "args": ("arg-1", "arg-2"),
                "env": {"KEY": "value"},
            },
            "older": {"command": "older-command", "args": ("--stdio",)},
            "remote": {
                "url": "https://example.com/mcp",
                "headers": {"Authorization": "Bearer zed-secret"},
            },
        },
        {"remote"},
    ),
    "inspector.mcp.json": (
        "inspector",
        {
            "everything-server-default": {
                "command": "npx",
                "args": ("-y", "@modelcontextprotocol/server-everything"),
            },
            "modern": {
                "url": "https://api.example.com/mcp",
                "headers": {"X-Tenant": "acme"},
                "era": "per-request",
                "connect_timeout_s": 4,
                "auth": "oauth",
                "oauth": {"client_id": "inspector", "scope": "mcp:read"},
            },
            "before": {"url": "http://localhost:8000/mcp", "era": "handshake"},
        },
        set(),
    ),
}
