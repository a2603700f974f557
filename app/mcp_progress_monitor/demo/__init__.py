"""Bundled MCP servers: well-mannered by default, misbehaving on request.

The window's `--demo`, the integration tests and the benchmarks all talk to these servers over a
real pipe. The package needs the standard library alone and imports nothing else of `app`, so that
what it sends is an independent witness of the protocol and not an echo of our own codec.

Where to put more: a tool is a small function plus a row in a table in `demo/tools/`; a rule about
protocol revisions belongs in `eras.py`; a way to break the whole server in `profiles.py`.
"""
