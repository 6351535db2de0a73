"""The theory as one PDF, from the same pages: Sphinx writes one HTML page, Chromium prints it.

Run from the repository: ``python docs/pdf.py theory.pdf``. It needs the dependency groups ``docs``
and ``browser``, and Chromium or Chrome of the system (or its path in ``CHROMIUM``). Examples are
not run.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from datetime import date
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS)]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

PICTURE_LINK = re.compile(r'<a class="[^"]*image-reference" href="_images/[^"]*">(.*?)</a>', re.S)
# the heading of a page, with the label of the section that it begins
PAGE_HEADING = re.compile(
    r'<section [^>]*id="([^"]+)">\s*(?:<span id="[^"]*"></span>)*<h2>(.*?)<a class="headerlink"',
    re.S,
)

STYLE = """
@page { size: A4; margin: 20mm 18mm 22mm; }
@media print {
  body { font: 10pt/1.42 "DejaVu Serif", "Noto Serif", Georgia, serif; margin: 0; color: black; }
  div.document, div.body, div.documentwrapper, div.bodywrapper {
    margin: 0; padding: 0; max-width: none; width: auto;
  }
  div.sphinxsidebar, div.related, div.footer, a.headerlink { display: none; }
  h1 { font-size: 17pt; break-before: page; }
  h2 { font-size: 14pt; } h3 { font-size: 11pt; }
  h2 { border-top: 0.6pt solid #999; padding-top: 6pt; margin-top: 22pt; }
  h1, h2, h3, h4, p[id^="thm-"] { break-after: avoid; break-inside: avoid; }
  table { font-size: 8.5pt; border-collapse: collapse; margin: 6pt 0; }
  td, th { border: 0.4pt solid #999; padding: 2pt 5pt; vertical-align: top; text-align: left; }
  code, pre {
    font: 8pt "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; white-space: pre-wrap;
  }
  pre, figure, mjx-container[display="true"] { break-inside: avoid; }
  img { max-width: 100%; }
  a { color: #1a3c6e; text-decoration: none; }
  header.title { height: 230mm; padding-top: 70mm; text-align: center; }
  header.title h1 { font-size: 26pt; break-before: avoid; }
  /* formulas are set for a font of smaller letters than that of the text */
  mjx-container { font-size: 112% !important; }
  nav.pages ul { columns: 2; column-gap: 10mm; list-style: none; padding: 0; font-size: 9pt; }
  nav.pages li { break-inside: avoid; margin-bottom: 3pt; }
}
"""


def build(folder: Path) -> Path:
    """One HTML page of all theory pages, without the examples and the rest of the documentation."""
    import statements
    from sphinx.application import Sphinx

    from ldpopt import __version__ as release

    source = folder / "source"
    shutil.copytree(DOCS / "theory", source)
    index = source / "index.md"
    index.write_text(
        index.read_text(encoding="utf-8").replace("STATEMENTS", statements.table()),
        encoding="utf-8",
    )
    settings = {
        "extensions": ["myst_parser", "sphinx.ext.mathjax", "sphinx-mathjax-offline"],
        "myst_enable_extensions": ["dollarmath", "amsmath", "deflist"],
        "myst_heading_anchors": 3,
        "project": "ldpopt",
        "version": release,
        "release": release,
        "html_theme": "basic",
        "html_title": "ldpopt",
        # Pages outside the theory are named, not linked.
        "suppress_warnings": [
            "myst.xref_missing",
            "myst.xref_ambiguous",
            "ref.ref",
            "ref.doc",
            "ref.term",
            "toc.excluded",
        ],
    }
    app = Sphinx(
        source, None, folder / "html", folder / "trees", "singlehtml", settings, status=None
    )
    app.build()
    page = folder / "html" / "index.html"
    title = (
        '<header class="title"><h1>Theory of ldpopt</h1><p>Optimal local-privacy mechanisms: '
        "statements and proofs</p>"
        f"<p>Version {release}, printed on {date.today().isoformat()}</p><p>The ldpopt "
        "authors</p></header>"
    )
    # one page: labels suffice
    text = re.sub(r'href="#document-[^"#]*#', 'href="#', page.read_text(encoding="utf-8"))
    text = text.replace("</head>", f"<style>{STYLE}</style></head>", 1)
    text = PICTURE_LINK.sub(r"\1", text)  # to a file that is gone when the PDF is read
    front = f'{title}{contents(text)}<div class="document">'
    page.write_text(
        text.replace('<div class="document">', front, 1),
        encoding="utf-8",
    )
    return page


def contents(text: str) -> str:
    """A list of all pages of the theory, each a link to its heading."""
    links = [
        f'<li><a href="#{label}">{heading}</a></li>'
        for label, heading in PAGE_HEADING.findall(text)
    ]
    return f'<nav class="pages"><h1>Contents</h1><ul>{"".join(links)}</ul></nav>'


def browser_path() -> str:
    """Chromium of the system."""
    for name in (os.environ.get("CHROMIUM", ""), *BROWSERS):
        if name and (found := shutil.which(name)):
            return found
    sys.exit(
        "no Chromium found | looked for "
        + ", ".join(BROWSERS)
        + " | do: install one, or set CHROMIUM to its path"
    )


def print_page(page: Path, target: Path) -> None:
    """Print with page numbers, after all formulas are set."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        sheet = browser.new_page()
        sheet.set_default_timeout(300_000)
        sheet.goto(page.as_uri(), wait_until="load")
        sheet.evaluate("() => MathJax.startup.promise")
        footer = (
            '<div style="font-size:8px;width:100%;text-align:center"><span '
            'class="pageNumber"></span></div>'
        )
        sheet.pdf(
            path=str(target),
            prefer_css_page_size=True,
            print_background=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=footer,
            outline=True,
            tagged=True,
        )
        browser.close()


def main() -> None:
    """Write the PDF to the path that is given, by default ``theory.pdf``."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "theory.pdf")
    with tempfile.TemporaryDirectory() as folder:
        print_page(build(Path(folder)), target)
    print(f"{target}: {target.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
