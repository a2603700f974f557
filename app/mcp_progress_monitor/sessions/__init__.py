"""Asynchronous I/O with servers, on anyio and never on Qt."""
