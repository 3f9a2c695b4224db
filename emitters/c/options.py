"""The options of the C target."""

from collections.abc import Sequence
from dataclasses import dataclass

from mbndt.options import Options, option


@dataclass(frozen=True)
class COptions(Options):
    """How the header holds numbers, and what its identifiers begin with."""

    number: str = option(
        "double",
        "type of the numbers; int32, int16 and int8 are fixed-point",
        choices=("double", "float", "int32", "int16", "int8"),
    )
    scale: Sequence[str] = option(
        (),
        "for a fixed-point type: a stored integer i stands for the double nearest to i/K;"
        " can be given several times",
        otherwise="the finest that fits",
        metavar="FEATURE=K",
    )
    name: str | None = option(
        None,
        "prefix of all identifiers; two headers in one program need two",
        otherwise="the rules' name",
    )
