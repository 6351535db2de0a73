"""Parts of a page as HTML: tables and pictures that need no script, no font and no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.plotting.report.frames import Precision

LISTED = 12
"""Most answers and reports of a mechanism that is shown whole."""

SHOWN = 20
"""Most numbers whose precision is listed."""

PEOPLE = (100, 1_000, 10_000, 100_000)
"""Numbers of respondents in the table of precision."""

LEAST_SHOWN = 1e-4
"""Smallest probability that is shown by its digits."""

LEAST_WIDTH = 1e-6
"""Half-widths below this are shown as 0: what is estimated is known, and only the masses are rounded."""

NORMAL = 1.959963984540054
"""Half-width of a 95 % interval in standard deviations."""

BELIEFS = (0.01, 0.1, 0.5, 0.9)
"""What a reader may have thought before."""


def paragraphs(sentences: Sequence[str]) -> str:
    """One paragraph a sentence."""
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], cell: str = "td") -> str:
    """A table; the first entry of a row is its heading, the others are HTML."""
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<{cell}>{entry}</{cell}>" for entry in row[1:])}</tr>'
        for row in rows
    )
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def mechanism_table(mechanism: Mechanism) -> str:
    """The channel with shaded cells; of a large one the most likely reports of some answers."""
    n, m = mechanism.channel.shape
    if max(n, m) > LISTED:
        return _most_likely(mechanism)
    head = ["answer", *(str(name) for name in mechanism.outputs)]
    rows = "".join(
        f'<tr><th scope="row">{escape(str(name))}</th>{"".join(map(_cell, row))}</tr>'
        for name, row in zip(mechanism.inputs, mechanism.channel.tolist(), strict=True)
    )
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    caption = "Probability of each report (column) for each true answer (row)"
    return (
        f'<div class="wide"><table class="channel"><caption>{caption}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cell(p: float) -> str:
    """A cell that is darker for likelier reports, with ink that is read on it."""
    light = round(97 - 62 * p**0.7)
    ink = "#fff" if light < 60 else "#111"
    shown = "&lt;0.0001" if 0 < p < LEAST_SHOWN else f"{p:.3g}"
    return f'<td style="background:hsl(210 60% {light}%);color:{ink}">{shown}</td>'


def _most_likely(mechanism: Mechanism) -> str:
    n, m = mechanism.channel.shape
    chosen = np.unique(np.linspace(0, n - 1, min(n, LISTED)).round().astype(int))
    rows = []
    for x in chosen:
        best = np.argsort(-mechanism.channel[x], kind="stable")[:3]
        likely = ", ".join(f"{mechanism.outputs[y]} ({mechanism.channel[x, y]:.3g})" for y in best)
        rows.append([str(mechanism.inputs[x]), escape(likely)])
    whose = "each answer" if len(chosen) == n else f"{len(chosen)} of the answers"
    caption = f"{n:,} answers, {m:,} different reports. The three most likely reports for {whose}"
    if tuple(mechanism.outputs) == tuple(range(m)):
        caption += ". Reports are numbered; the numbers are only names"
    return table(caption, ["answer", "most likely reports (probability)"], rows)


def precision_table(found: Precision) -> str:
    """Half-widths of 95 % intervals by the number of respondents, and how many people privacy costs."""
    chosen = np.unique(np.linspace(0, len(found.names) - 1, min(len(found.names), SHOWN)).round().astype(int))
    rows = []
    for k in chosen:
        deviation, truthful = found.deviation[k], found.truthful[k]
        spreads = [NORMAL * deviation / people**0.5 for people in PEOPLE]
        widths = [f"± {spread if spread >= LEAST_WIDTH else 0:.2g}" for spread in spreads]
        times = f"{(deviation / truthful) ** 2:,.3g}" if truthful > 0 else "–"
        rows.append([str(found.names[k]), *widths, times])
    head = ["estimate", *(f"{people:,}" for people in PEOPLE), "times as many people"]
    assumed = "all answers are equally frequent" if found.is_uniform else "answers are distributed as assumed"
    caption = (
        f"Half-width of a 95 % interval, by the number of respondents, if {assumed}. Last column: how many times as "
        "many people are needed as with true answers, for the same precision"
    )
    if len(chosen) < len(found.names):
        caption += f" ({len(chosen)} of {len(found.names):,} numbers)"
    return f'<div class="wide">{table(caption, head, rows)}</div>'


def belief_picture(factor: float) -> str:
    """Bars from the least to the most that a reader can believe after one report, with a mark for what was believed."""
    width, left, step = 600, 150, 34
    height = step * len(BELIEFS) + 40
    across = width - left - 20
    lines, told, axis = [], [], 16 + step * len(BELIEFS)
    for share in (0, 0.25, 0.5, 0.75, 1):
        x = left + across * share
        lines.append(f'<path d="M{x:.1f} 8V{axis}" stroke="#bbb"/>')
        lines.append(f'<text x="{x:.1f}" y="{axis + 14}" text-anchor="middle">{share:.0%}</text>')
    for place, before in enumerate(BELIEFS):
        low, high = before / (before + factor * (1 - before)), factor * before / (1 - before + factor * before)
        y, start, mark = 16 + step * place, left + across * low, left + across * before
        lines.append(f'<text x="0" y="{y + 12}">before: {before:.0%}</text>')
        lines.append(
            f'<rect x="{start:.1f}" y="{y}" width="{max(across * (high - low), 1):.1f}" height="16" fill="#5b8dbf"/>'
        )
        lines.append(f'<path d="M{mark:.1f} {y - 4}v24" stroke="#111" stroke-width="2"/>')
        told.append(f"{before:.0%} becomes {low:.2%} to {high:.2%}")
    title = f"What a reader may believe of one answer after one report: {'; '.join(told)}"
    return (
        f'<figure><svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(lines)}</svg>"
        "<figcaption>Mark: how likely a reader thought an answer before. Bar: the range in which this probability can "
        "be after the reader has seen one report.</figcaption></figure>"
    )
