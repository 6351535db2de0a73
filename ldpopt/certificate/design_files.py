"""Files of designs of every kind and format."""

from __future__ import annotations

import os
from typing import Any

from ldpopt.certificate.design_certificate import LARGEST_FILE, DesignCertificate
from ldpopt.certificate.documents import open_document
from ldpopt.certificate.frequency_certificate import OLD_FORMAT, FrequencyCertificate

WORDS = ("ldpopt design certificate", OLD_FORMAT)
"""Beginnings of formats."""


def is_design(path: str | os.PathLike[str]) -> bool:
    """Whether a file says that it is a certificate of a design; what is not a plain file is not opened."""
    if not os.path.isfile(path):
        return False  # opening a named pipe would wait for its writer
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            beginning = stream.read(100)
    except OSError:
        return False
    return any(words in beginning for words in WORDS)


def load(path: str | os.PathLike[str]) -> DesignCertificate | FrequencyCertificate:
    """Read the certificate of a design, of whatever kind."""
    entry = open_document(path, LARGEST_FILE)
    return from_dict(entry.value, entry.path)


def from_dict(data: Any, name: str) -> DesignCertificate | FrequencyCertificate:
    """Read what `to_dict` of a certificate made; the name is that of its place in messages."""
    has_sets = isinstance(data, dict) and "size" in data
    return FrequencyCertificate.from_dict(data, name) if has_sets else DesignCertificate.from_dict(data, name)
