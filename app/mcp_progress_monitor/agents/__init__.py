"""An MCP server over jobs, traffic and findings, for agents."""
