"""The Python target."""
