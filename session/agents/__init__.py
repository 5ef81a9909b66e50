"""One adapter per client: its hook payload into a common event, the common answer into its form."""
