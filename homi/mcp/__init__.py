"""homi's tools for agents, over the Model Context Protocol.  homi-mcp(1)."""
