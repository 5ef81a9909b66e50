"""`install`, `uninstall`, `status` and `completion`: joelclaw on this machine."""
