"""The DMN target."""
