"""What a file that is no table for us is, by its first bytes, and the way out."""

from __future__ import annotations

import re

UNPACK = "{tool} {source} | mbndt … -"
PANDAS = "convert it to Parquet: pandas.{reader}({source!r}).to_parquet('data.parquet')"
# First bytes, what starts with them, and what to do.
MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"\xff\xfe\0\0", "UTF-32 text", "`encoding` utf-32 reads it"),
    (b"\0\0\xfe\xff", "UTF-32 text", "`encoding` utf-32 reads it"),
    (b"\xff\xfe", "UTF-16 text", "`encoding` utf-16 reads it"),
    (b"\xfe\xff", "UTF-16 text", "`encoding` utf-16 reads it"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file", "save the sheet as CSV UTF-8"),
    (b"PK\x03\x04", "a zip archive", "unzip it first"),
    (b"PK\x05\x06", "an empty zip archive", "expected CSV or Parquet"),
    (b"\xfd7zXZ\0", "compressed by xz", UNPACK.format(tool="xz -dc", source="{source}")),
    (b"BZh", "compressed by bzip2", UNPACK.format(tool="bzip2 -dc", source="{source}")),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", UNPACK.format(tool="zstd -dc", source="{source}")),
    (b"\x04\x22\x4d\x18", "compressed by lz4", UNPACK.format(tool="lz4 -dc", source="{source}")),
    (b"\x1f\x9d", "compressed by compress", UNPACK.format(tool="gzip -dc", source="{source}")),
    (b"\x1f\x8b", "compressed by gzip twice", "unpack it once"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it first"),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it first"),
    (b"ORC", "an ORC file", PANDAS.format(reader="read_orc", source="{source}")),
    (
        b"ARROW1\0\0",
        "an Arrow (Feather) file",
        PANDAS.format(reader="read_feather", source="{source}"),
    ),
    (b"\xff\xff\xff\xff", "an Arrow stream", "write it as Parquet"),
    (b"FEA1", "a Feather file", PANDAS.format(reader="read_feather", source="{source}")),
    (b"PARE", "an encrypted Parquet file", "write it without encryption"),
    (b"Obj\x01", "an Avro file", "write it as Parquet"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", PANDAS.format(reader="read_hdf", source="{source}")),
    (b"CDF\x01", "a NetCDF file", "write it as CSV or Parquet"),
    (b"CDF\x02", "a NetCDF file", "write it as CSV or Parquet"),
    (b"\x93NUMPY", "a NumPy file", "write it as CSV with a line of column names"),
    (b"$FL2", "an SPSS file", PANDAS.format(reader="read_spss", source="{source}")),
    (b"$FL3", "an SPSS file", PANDAS.format(reader="read_spss", source="{source}")),
    (b"<stata_dta>", "a Stata file", PANDAS.format(reader="read_stata", source="{source}")),
    (
        b"HEADER RECORD*******",
        "a SAS transport file",
        PANDAS.format(reader="read_sas", source="{source}"),
    ),
    (
        b"\0" * 12 + b"\xc2\xea\x81\x60",
        "a SAS file",
        PANDAS.format(reader="read_sas", source="{source}"),
    ),
    (b"RDX2\n", "an R workspace", "write the data frame by write.csv(…, row.names = FALSE)"),
    (b"RDX3\n", "an R workspace", "write the data frame by write.csv(…, row.names = FALSE)"),
    (b"X\n\0\0\0", "an R object", "write the data frame by write.csv(…, row.names = FALSE)"),
    (b"%PDF-", "a PDF", "export the table as CSV"),
    (b"{\\rtf", "an RTF document", "export the table as CSV"),
    (b"\x89PNG\r\n\x1a\n", "an image", "export the table as CSV"),
    (b"\xff\xd8\xff", "an image", "export the table as CSV"),
)
PICKLE = re.compile(rb"\x80[\x02-\x05][\x95\x8a-\x8d}\]c(K]")
LOOKS = (
    (
        re.compile(rb"\s*(\{\s*(\"|\}|$)|\[\s*([\[{]|$))"),
        "JSON",
        PANDAS.format(reader="read_json", source="{source}"),
    ),
    (
        re.compile(rb"\s*<(!doctype|html|head|body|table)\b", re.IGNORECASE),
        "HTML",
        "a page, perhaps of a log-in or an error, where a table was meant",
    ),
    (re.compile(rb"\s*<\?xml"), "XML", PANDAS.format(reader="read_xml", source="{source}")),
)
OFFICE = (
    (b"xl/", "an Excel workbook", "save the sheet as CSV UTF-8"),
    (b"opendocument", "an OpenDocument file", "save the sheet as CSV UTF-8"),
    (b"[Content_Types].xml", "an Office document", "save the sheet as CSV UTF-8"),
    (b"/mbndt/rules.json", "a model of mbndt", "it stands before the data: MODEL DATA"),
    (b"/data.pkl", "a PyTorch file", "it stands before the data: MODEL DATA"),
)


def foreign(head: bytes, source: str) -> str | None:
    """Return what a file is and the way out, by its first 4,096 bytes; None for a plain text."""
    found = next(((what, way) for magic, what, way in MAGIC if head.startswith(magic)), None)
    if head.startswith(b"PK\x03\x04"):
        found = next(((what, way) for inner, what, way in OFFICE if inner in head), found)
    if found is None and PICKLE.match(head):
        found = "a pickle", PANDAS.format(reader="read_pickle", source="{source}")
    if found is None and head[257:262] == b"ustar":
        found = "a tar archive", "unpack it first"
    if found is None:
        found = next(((what, way) for look, what, way in LOOKS if look.match(head)), None)
    if found is None and b"\0" in head:
        found = "a binary file, or UTF-16 text", "`encoding` utf-16-le reads the latter"
    if found is None:
        return None
    return f"{found[0]}; {found[1]}".replace("{source}", source).replace("{source!r}", repr(source))
