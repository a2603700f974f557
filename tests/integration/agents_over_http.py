"""The server for agents over HTTP, for the conformance suite, which knows only servers with a URL.

Arguments: the port, the data folder, and --act for the tools that act.
"""

import functools
import sys
from pathlib import Path

from mcp_progress_monitor.agents.action_tools import add_actions
from mcp_progress_monitor.agents.auditing import Auditing
from mcp_progress_monitor.agents.server import made
from mcp_progress_monitor.agents.sources import Sources

folder = Path(sys.argv[2])
sources = Sources(folder)
add = functools.partial(add_actions, sources) if "--act" in sys.argv else None
made(sources, Auditing(folder), add).run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
