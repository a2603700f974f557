"""Watch the progress of long-running MCP calls, token by token, with every message on record."""

__version__ = "0.1.0"
