"""What a PDF shows, read from the PDF: where each word stands, and which signs it lacks."""

import io
import itertools
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from mbndt.emitters.protocol.words import languages, messages

needs_poppler = pytest.mark.skipif(
    shutil.which("pdftotext") is None,
    reason="no Poppler: apt-get install poppler-utils",
)
NO_PDF = "no sheet as PDF: pip install 'mbndt[pdf]', and apt-get install libpangoft2-1.0-0"
XHTML = "{http://www.w3.org/1999/xhtml}"
SLACK = 1.0  # points that boxes may share sideways
NEAR = 3.0  # and stand over the margin; Chromium rounds
HIGHER = 0.35  # a box's part above and below its letters, where lines stand close
# Heads for screen readers, of which print shows nothing.
HIDDEN = {
    word
    for language in languages()
    for key in ("if_it_is", "then")
    for word in messages(language)[key].split()
}
MARGIN = 10 * 72 / 25.4  # of the sheet, left and right


@dataclass(frozen=True)
class Word:
    """A word and its box on a page, in points from the top left."""

    text: str
    page: int
    left: float
    top: float
    right: float
    bottom: float


def words(content: bytes) -> Iterator[Word]:
    """Yield the words of a PDF with their boxes, as Poppler finds them."""
    done = subprocess.run(
        ["pdftotext", "-bbox", "-", "-"], input=content, capture_output=True, check=True
    )
    for number, page in enumerate(ElementTree.fromstring(done.stdout).iter(f"{XHTML}page")):
        for word in page.iter(f"{XHTML}word"):
            box = [float(word.get(key)) for key in ("xMin", "yMin", "xMax", "yMax")]
            yield Word(word.text or "", number, *box)


def overprinted(content: bytes) -> list[tuple[str, str]]:
    """Return the pairs of words of which one lies on the other."""
    found = []
    for _, page in itertools.groupby(words(content), lambda word: word.page):
        boxes = sorted((w for w in page if w.text not in HIDDEN), key=lambda word: word.top)
        for i, one in enumerate(boxes):
            for other in boxes[i + 1 :]:
                if other.top >= one.bottom:
                    break
                wide = min(one.right, other.right) - max(one.left, other.left)
                high = min(one.bottom, other.bottom) - other.top
                least = min(one.bottom - one.top, other.bottom - other.top)
                if wide > SLACK and high > HIGHER * least:
                    found.append((one.text, other.text))
    return found


def shown_beyond(content: bytes, width: float) -> list[str]:
    """Return the words that stand in the margins of pages of a width in millimetres."""
    return [
        word.text
        for word in words(content)
        if word.left < MARGIN - NEAR or word.right > width * 72 / 25.4 - MARGIN + NEAR
    ]


def absent(content: bytes) -> list[int]:
    """Return the numbers of the signs that a PDF draws and that their font doesn't hold."""
    import pypdf
    from fontTools.ttLib import TTFont

    reader = pypdf.PdfReader(io.BytesIO(content))
    found, drawn = [], 0
    work = [(page, page.get_contents()) for page in reader.pages]
    while work:
        owner, stream = work.pop()
        resources = owner["/Resources"].get_object()
        counts = {}
        for name, font in resources.get("/Font", {}).items():
            descriptor = font.get_object()["/DescendantFonts"][0].get_object()["/FontDescriptor"]
            file = descriptor.get_object().get("/FontFile2") or descriptor["/FontFile3"]
            counts[name] = TTFont(io.BytesIO(file.get_object().get_data()))["maxp"].numGlyphs
        for form in resources.get("/XObject", {}).values():
            if form.get_object()["/Subtype"] == "/Form":
                work.append((form.get_object(), form.get_object()))
        current = ""
        for operands, operator in pypdf.generic.ContentStream(stream, reader).operations:
            if operator == b"Tf":
                current = operands[0]
            elif operator in (b"Tj", b"TJ"):
                parts = operands[0] if operator == b"TJ" else operands
                for part in parts:
                    if isinstance(part, (bytes, str)):
                        data = getattr(part, "original_bytes", part)
                        signs = [int.from_bytes(data[i : i + 2]) for i in range(0, len(data), 2)]
                        drawn += len(signs)
                        found += [sign for sign in signs if not 0 < sign < counts[current]]
    assert drawn > 100
    return found
