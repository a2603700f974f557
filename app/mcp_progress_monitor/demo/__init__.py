"""The bundled MCP server: well-behaved on stdio in both eras, with a few faults to look at.

`--demo` talks to it over a real pipe. The package needs the standard library alone and imports
nothing else of the application, so that what it sends is an independent witness of the protocol.
Servers that misbehave in other ways, and those over HTTP, build on it in `tests/servers`.

Where to put more: a tool is a small function with a row in a table in `demo/tools/`; a rule about
protocol revisions belongs in `eras.py`.
"""
