"""The version of the package, which artefacts and files name."""

__version__ = "0.1.0"
