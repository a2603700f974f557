"""Calls that became tasks: asked about, answered, cancelled and fetched by requests of their own.

Two shapes of one thing: the core feature of revision 2025-11-25 ("Tasks"), and the extension
`io.modelcontextprotocol/tasks` of 2026-07-28 (ext-tasks, specification 2026-07-28).
"""
