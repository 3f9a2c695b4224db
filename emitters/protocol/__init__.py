"""The protocol target: the decision sheet."""
