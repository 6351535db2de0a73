"""Bytes that are no file of the library: what JSON leaves open, or is not JSON at all."""

from __future__ import annotations

from collections.abc import Iterator
from re import finditer, sub

DEEP = 20_000
"""Lists in each other: more than any reader follows."""

NUMBER = r"(?<=[\s\[:,])-?\d+(?:\.\d+)?(?=[\s,\]}])"
LITERALS = (
    *("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "01", "+1", "1.", ".5", "0x10", "1_000"),
    *("9" * 5000, "-" + "9" * 5000, "1e99999999999", "'1'", "٣", "１"),
)
"""What no reader takes for the number that stood there."""


def forged_bytes(text: str) -> Iterator[tuple[str, bytes]]:
    """Name and bytes; every one of them is to be refused."""
    raw = text.encode()
    numbers = [match.span() for match in finditer(NUMBER, text)]
    for place, literal in enumerate(LITERALS):
        if numbers:
            start, end = numbers[place * 7 % len(numbers)]
            yield f"the number {literal:.20}", (text[:start] + literal + text[end:]).encode()
    first = text.index('"')
    key = text[first : text.index('"', first + 1) + 1]
    brace = text.index("{") + 1
    yield "a repeated key", (text[:brace] + f"{key}: 1, " + text[brace:]).encode()
    yield (
        "a key repeated in escapes",
        (text[:brace] + f'"\\u{ord(key[1]):04x}{key[2:]}: 1, ' + text[brace:]).encode(),
    )
    lookalike = sub('"([a-z_]*)a([a-z_]*)":', '"\\1а\\2":', text, count=1)
    if lookalike != text:
        yield "a key with a letter of another alphabet", lookalike.encode()
    yield "in UTF-16", text.encode("utf-16")
    yield "in UTF-32", text.encode("utf-32")
    yield "two marks of UTF-8", b"\xef\xbb\xbf\xef\xbb\xbf" + raw
    yield "a byte that is not UTF-8", raw.replace(b'"', b'"\xff', 1)
    yield "half of a pair of surrogates", raw.replace(b'"', b'"\xed\xa0\x80', 1)
    yield "a zero byte", raw + b"\x00"
    yield "cut off", raw[: len(raw) // 2]
    yield "empty", b""
    yield "a comma more", raw.rstrip()[:-1] + b",}"
    yield "a comment", b"// a comment\n" + raw
    yield "two objects", raw + raw
    yield "in a list", b"[" + raw + b"]"
    yield "as a text", b'"x"'
    yield "deep lists", b"[" * DEEP + b"]" * DEEP
    yield "deep objects", b'{"format": ' * DEEP + b"1" + b"}" * DEEP
    deep = "[" * DEEP + "]" * DEEP
    yield "deep lists under a key", (text[:brace] + f'"unread": {deep}, ' + text[brace:]).encode()
    yield (
        "deep lists in place of a value",
        sub(
            '("[a-z]+": )[^,{}\\[\\]]+,', lambda match: f"{match[1]}{deep},", text, count=1
        ).encode()
        if sub('("[a-z]+": )[^,{}\\[\\]]+,', "", text, count=1) != text
        else b"[]",
    )
