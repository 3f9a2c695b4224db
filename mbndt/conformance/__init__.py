"""Proof that every target answers as the interpreter does."""
