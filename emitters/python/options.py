"""The Python target has no options."""

from mbndt.options import Options


class PythonOptions(Options):
    """None."""
