"""Certificates of designs before both that check them: the library, and the one-file checker."""

from __future__ import annotations

import json
from typing import Any

import ldpopt_check as checker
from ldpopt.certificate.design_certificate import certificate_from_dict
from ldpopt.errors import LdpoptError


def is_refused_by_both(data: dict[str, Any]) -> tuple[bool, bool]:
    """Whether the library and the checker refuse a file."""
    try:
        library = bool(certificate_from_dict(json.loads(json.dumps(data)), "file").recheck())
    except LdpoptError:
        library = True
    try:
        checker.check_design(data)
        other = False
    except (ValueError, checker.ClaimError):
        other = True
    return library, other
