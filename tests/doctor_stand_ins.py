"""Reports of the connection doctor without a connection."""

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.snapshots.doctor import Cause, DoctorReport, EndKind, HttpNote, Searched
from mcp_progress_monitor.snapshots.servers import ServerState

NOT_FOUND = DoctorReport(
    "files",
    ServerState.FAILED,
    "npx -y server files",
    command=("npx", "-y", "a server", "~/files"),
    folder="/srv/work",
    searched=(
        Searched("/usr/local/bin", exists=True, found=None),
        Searched("/opt/gone/bin", exists=False, found=None),
        Searched("/usr/bin", exists=True, found=None),
    ),
    environment=("API_KEY", "HOME", "PATH"),
    causes=(
        Cause("The command is in no folder of PATH", "Install Node.js, or give the whole path."),
        Cause("PATH here is not that of your terminal", "Set PATH in the server's variables."),
    ),
    error=ErrorDetails("The command npx was not found", "npx -y server", "Install it."),
)
"""A command that is not there."""
CRASHED = DoctorReport(
    "crawler",
    ServerState.FAILED,
    "python crawl.py",
    command=("python", "crawl.py"),
    folder="/srv/crawler",
    found="/usr/bin/python",
    pid=4711,
    exit_code=1,
    ending="The server exited with exit code 1",
    end_kind=EndKind.SERVER,
    stderr_tail=(
        "Traceback (most recent call last):",
        '  File "/srv/crawler/crawl.py", line 3, in <module>',
        "    import httpx",
        "\x1b[31mModuleNotFoundError\x1b[0m: No module named 'httpx'",
    ),
    first_bytes=b"Loading\xe2\x80\xa6\n\x00<b>",
    causes=(Cause("A Python module is missing: httpx", "Install it where the server runs."),),
    error=ErrorDetails("The server exited while it was being connected", "python crawl.py"),
    restarts=2,
)
"""A Python program that ends with a traceback."""
REFUSED = DoctorReport(
    "hub",
    ServerState.FAILED,
    "https://hub.example.org/mcp",
    http=(
        HttpNote("GET https://hub.example.org/.well-known/x", 200, "OK"),
        HttpNote(
            "POST https://hub.example.org/mcp",
            401,
            "Unauthorized",
            (("www-authenticate", 'Bearer realm="hub"'), ("content-type", "application/json")),
            '{"error": "<script>alert(1)</script>"}',
        ),
    ),
    causes=(Cause("The server wants a token", "Set an Authorization header, or sign in."),),
    error=ErrorDetails("The server refused: 401 Unauthorized", "https://hub.example.org/mcp"),
)
"""A server by URL that wants to know who we are."""
