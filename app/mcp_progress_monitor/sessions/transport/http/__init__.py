"""Servers reached over HTTP: Streamable HTTP in both eras, and legacy HTTP+SSE; OAuth sign-in."""
