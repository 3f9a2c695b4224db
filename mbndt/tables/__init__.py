"""Tables of raw columns: read, typed, described."""
