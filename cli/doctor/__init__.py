"""`joelclaw doctor`."""
