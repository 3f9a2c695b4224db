"""The options of the ONNX target."""

from dataclasses import dataclass

from mbndt.options import Options, option


@dataclass(frozen=True)
class OnnxOptions(Options):
    """How the model takes its inputs, and what its outputs are named."""

    inputs: str = option(
        "columns",
        "one input for each feature, or one matrix of numbers",
        choices=("columns", "matrix"),
    )
    number: str = option("double", "type of the numbers", choices=("double", "float"))
    prefix: str = option("", "text to put before the outputs' names", otherwise="none")
