"""What `joelclaw install` puts into the clients' own configuration, and how it takes it out again. Off the hot path."""
