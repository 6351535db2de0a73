"""Sphinx settings: numpydoc for docstrings, MyST for pages, the examples as a gallery; nothing is
downloaded."""

import logging
import os
import re
import shutil
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS)]

import statements  # noqa: E402

from ldpopt import __version__ as release  # noqa: E402

project = "ldpopt"
author = "The ldpopt authors"
copyright = f"2026, {author}"
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    # formulas without the network: the scripts and fonts come with the build
    "sphinx-mathjax-offline",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "**/*.ipynb", "**/*.codeobj.json", "**/*.zip"]
suppress_warnings = ["config.cache"]
default_role = "code"
nitpicky = False

warnings.filterwarnings("ignore", message="Unknown section Utility")
# else the theme's package prints every log line of the examples
logging.getLogger().addHandler(logging.NullHandler())
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "none"
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_attributes_as_param_list = True

html_theme = "furo"
html_title = f"ldpopt {release}"
html_copy_source = False


# Without the packages that the examples need their text is shown, and nothing is run.
CAN_RUN = all(find_spec(package) for package in ("matplotlib", "statsmodels", "cvxpy"))
if not CAN_RUN:
    suppress_warnings.append("image.not_readable")  # the figures of the papers are not drawn either

CAN_SPARK = find_spec("pyspark") is not None and shutil.which("java") is not None
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\d\d_",
    "ignore_pattern": r"papers" if CAN_SPARK else r"papers|25_spark",
    "within_subsection_order": "FileNameSortKey",  # the order in which they are to be read
    "reset_argv": "gallery_arguments.arguments",
    "write_computation_times": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "show_signature": False,
    "plot_gallery": CAN_RUN,
    "image_scrapers": ("matplotlib",) if CAN_RUN else (),
}


def _name_utility(app, what, name, obj, options, lines):
    """Show the section ``Utility``, which numpydoc does not know, as a line of the summary."""
    text = "\n".join(lines)
    found = re.search(
        r"\nUtility\n-+\n(.*?)(?=\n\n[A-Z][A-Za-z ]+\n-+\n|\Z)", text, flags=re.DOTALL
    )
    if not found:
        return
    text = text[: found.start()] + text[found.end() :]
    words = " ".join(found[1].split())
    place = re.search(r"\nParameters\n-+\n", text)
    at = place.start() if place else len(text)
    lines[:] = (text[:at] + f"\n**Utility.** {words}\n" + text[at:]).split("\n")


def _draw_figures_of_papers(app):
    """Small versions of the papers' figures, for the page ``figures``; what has not changed is
    kept."""
    if CAN_RUN:
        folder = DOCS / "_build" / "papers"
        folder.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable,
            str(DOCS.parent / "examples" / "papers" / "all.py"),
            str(folder),
            "--quick",
        ]
        path = os.pathsep.join(filter(None, [str(DOCS.parent), os.environ.get("PYTHONPATH", "")]))
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": path}
        )


def _list_public_names(app, docname, source):
    """Fill in the page ``reference/index``: the names of ``ldpopt/__init__.pyi``, by the package
    that defines them."""
    if docname != "reference/index":
        return
    packages = {}
    stub = (DOCS.parent / "ldpopt" / "__init__.pyi").read_text(encoding="utf-8")
    for module, name in re.findall(r"^from \.(\S*) import \w+ as (\w+)$", stub, flags=re.MULTILINE):
        packages.setdefault(module.split(".")[0] or name, []).append(name)
    blocks = [
        f"### {package}\n\n```{{eval-rst}}\n.. autosummary::\n\n"
        + "".join(f"   ldpopt.{name}\n" for name in names)
        + "```\n"
        for package, names in packages.items()
    ]
    source[0] = source[0].replace("PUBLIC_NAMES", "\n".join(blocks))


def _list_statements(app, docname, source):
    """Fill in the table of the page ``theory/index``."""
    if docname in {"theory/index", "index"}:
        source[0] = source[0].replace("STATEMENTS", statements.table())


def setup(app):
    """Run before numpydoc reads the docstrings."""
    app.connect("builder-inited", _draw_figures_of_papers)
    app.connect("autodoc-process-docstring", _name_utility, priority=400)
    app.connect("source-read", _list_public_names)
    app.connect("source-read", _list_statements)
