"""Command-line arguments of the examples when the documentation runs them."""


def arguments(gallery_conf, script_vars):
    """Where an example leaves its pictures, relative to the folder of the examples."""
    return ["../docs/_build/pictures"]
