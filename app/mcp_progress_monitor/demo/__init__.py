"""The bundled MCP server: well-behaved on stdio in both eras, with a few faults to demonstrate.

`--demo` connects to it over a real pipe. The package imports only the standard library, so that it
is an independent implementation of the protocol. Servers with other faults, and those over HTTP,
are in `tests/servers` and build on it.

A new tool is a small function with a row in a table in `demo/tools/`; differences between protocol
revisions are in `eras.py`.
"""
