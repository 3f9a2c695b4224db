"""Learning: from a table to rules."""
