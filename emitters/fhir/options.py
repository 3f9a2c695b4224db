"""The FHIR target has no options."""

from mbndt.options import Options


class FhirOptions(Options):
    """None."""
