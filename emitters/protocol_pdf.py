"""The sheet as a PDF, by WeasyPrint: tagged, and the same bytes each time."""

from __future__ import annotations

import hashlib

from mbndt.errors import EngineMissing


def pdf(page: str) -> bytes:
    """Return a page of HTML as a PDF; raises `EngineMissing` where WeasyPrint isn't installed."""
    try:
        from weasyprint import HTML, URLFetcher
    except (ImportError, OSError) as error:  # the latter where its libraries are missing
        raise EngineMissing(
            f"--format pdf needs WeasyPrint: pip install 'mbndt[pdf]' ({type(error).__name__})"
        ) from None
    # No clock and no chance: the identifier comes from the content.
    identifier = hashlib.sha256(page.encode()).digest()[:16]
    nothing = URLFetcher(allowed_protocols=())
    found: bytes = HTML(string=page, url_fetcher=nothing).write_pdf(
        pdf_tags=True, pdf_identifier=identifier, pdf_variant="pdf/ua-1"
    )
    return found
