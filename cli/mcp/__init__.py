"""Memory as tools of an agent: an MCP server on stdin and stdout."""
