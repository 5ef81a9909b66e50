"""`off`, `on` and `exclude`: what joelclaw leaves alone."""
