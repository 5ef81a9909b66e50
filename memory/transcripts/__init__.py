"""Reading what agents write of their sessions: one module a client turns its lines into common items."""
