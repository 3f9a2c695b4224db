"""The JavaScript target has no options."""

from mbndt.options import Options


class JavaScriptOptions(Options):
    """None."""
