"""Other libraries' trees as rules."""
