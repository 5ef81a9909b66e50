"""`joelclaw status` and `joelclaw doctor`: collects facts, checks them, and repairs what is safe to repair."""
