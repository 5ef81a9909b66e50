"""The coding agents that joelclaw serves: one folder a client, and what they share."""
