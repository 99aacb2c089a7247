"""Types of values that no debugging information names, from what is done with them and what callers pass."""
