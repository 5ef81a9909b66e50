"""`joelclaw status` and `joelclaw doctor`: collects facts, checks them, and makes safe repairs."""
