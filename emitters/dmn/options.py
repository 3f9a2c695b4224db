"""The DMN target has no options."""

from mbndt.options import Options


class DmnOptions(Options):
    """None."""
