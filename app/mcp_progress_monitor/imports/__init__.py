"""Makes recordings of other programs' records of MCP sessions."""
