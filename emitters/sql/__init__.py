"""The SQL target."""
