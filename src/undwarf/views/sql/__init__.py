"""SQL over the tables of recordings."""
