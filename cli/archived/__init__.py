"""`joelclaw sessions`: the archived sessions, searched and read."""
