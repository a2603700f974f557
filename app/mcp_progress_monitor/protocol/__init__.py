"""The wire: JSON-RPC and MCP as pure functions of bytes, with no I/O, no clock and no Qt."""
