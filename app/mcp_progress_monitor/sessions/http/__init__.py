"""Servers reached over HTTP: Streamable HTTP in both eras, and the older HTTP+SSE."""
