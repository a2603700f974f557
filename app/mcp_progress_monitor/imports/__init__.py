"""Other programs' records of MCP sessions as recordings, as far as they go."""
