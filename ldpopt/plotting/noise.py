"""Pictures of additive noise, and of the layers that it falls with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ldpopt.noise.layers import LatticeNoise, Levels
from ldpopt.noise.noise import IntegerNoise, Noise
from ldpopt.noise.partition import NeighborPartition
from ldpopt.plotting.axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWN_DEVIATIONS = 4.0
"""Standard deviations of noise that a picture shows on both sides of 0."""

DRAWN_NATS = 6.0
"""Layers times epsilon that the picture of lattice noise shows."""


def noise(noise: Noise, ax: Axes | None = None) -> Axes:
    """Draw the density of noise, or the probabilities of noise on the integers, with the mean absolute noise.

    Parameters
    ----------
    noise : Noise
        Laplace, staircase, geometric noise, or noise by a partition.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    """
    ax = axes_or_new(ax)
    reach = DRAWN_DEVIATIONS * float(noise.variance) ** 0.5
    if isinstance(noise, IntegerNoise):
        last = max(3, min(int(reach), 2000))
        k = np.arange(-last, last + 1)
        ax.bar(k, noise.pdf(k), width=0.8 if last < 60 else 1.0, color="#08519c")
        ax.set_ylabel("probability")
        ax.set_xlabel("noise (whole numbers)")
    else:
        r = np.linspace(-reach, reach, 4001)
        density = noise.pdf(r)
        ax.plot(r, density, color="#08519c", linewidth=1.2)
        ax.fill_between(r, density, color="#c6dbef", alpha=0.6)
        ax.set_ylabel("density")
        ax.set_xlabel("noise (unit of the answer)")
    for side in (-1, 1):
        label = f"mean |noise| {noise.expected_abs:.4g}" if side > 0 else None
        ax.axvline(side * noise.expected_abs, color="#cb181d", linestyle="--", linewidth=1, label=label)
    ax.set_ylim(0, None)
    name = type(noise).__name__
    ax.set_title(
        rf"{name}, sensitivity {noise.sensitivity:.4g}, $\varepsilon$ = {float(noise.epsilon):.4g}", fontsize=10
    )
    ax.legend(frameon=False, fontsize=8)
    return ax


def partition(partition: NeighborPartition, ax: Axes | None = None) -> Axes:
    """Draw the level of each noise value: how many steps of the neighbor set reach it; the set itself is red.

    Parameters
    ----------
    partition : NeighborPartition
        The partition.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    """
    ax = axes_or_new(ax, size=(7.0, 4.0))
    reach = 2.5 * partition.sensitivity + float(partition.widening)
    r = np.linspace(-reach, reach, 8001)
    if partition.is_discrete:
        r = np.arange(-int(reach), int(reach) + 1.0)
    level = partition.level(r)
    ax.fill_between(r, level, step="mid", color="#c6dbef")
    ax.plot(r, level, color="#08519c", linewidth=1.2, drawstyle="steps-mid", label="level $L(r)$")
    for low, high in partition.blocks:
        for side in (-1, 1):
            ends = [side * float(low), side * float(high)]
            ax.plot(ends, [0, 0], color="#cb181d", linewidth=4, marker="|", solid_capstyle="butt", zorder=4)
    ax.plot([], [], color="#cb181d", linewidth=4, label="neighbor set")
    ax.set_xlabel("noise $r$ (unit of the answer)")
    ax.set_ylabel(r"level: the density is $e^{-\varepsilon L(r)} / Z$")
    ax.set_title(f"layers of the neighbor set, widening {float(partition.widening):.4g}", fontsize=10)
    ax.set_ylim(None, 1.3 * float(level.max()))
    ax.legend(fontsize=8, loc="upper center", ncol=2)
    return ax


def lattice(noise: LatticeNoise, ax: Axes | None = None) -> Axes:
    """Draw the layers of the integer lattice around 0: probabilities of integers, or the layers of pairs of integers.

    Parameters
    ----------
    noise : LatticeNoise
        Noise for one or two numbers.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    """
    last = max(2, min(int(DRAWN_NATS / float(noise.epsilon)), 12))
    listed = [noise.words.layer(t) for t in range(last + 1)]
    points = np.concatenate(listed)
    level = np.repeat(np.arange(last + 1), [len(layer) for layer in listed])
    title = rf"noise by {last + 1} layers of the lattice, $\varepsilon$ = {float(noise.epsilon):.4g}"
    if noise.dimension == 1:
        ax = axes_or_new(ax)
        ax.vlines(points[:, 0], 0, np.exp(-float(noise.epsilon) * level) / noise.normalizer, color="#08519c")
        ax.set_ylabel("probability")
        ax.set_xlabel("noise (whole numbers)")
        ax.set_ylim(0, None)
    else:
        ax = axes_or_new(ax, size=(6.4, 5.2))
        dots = ax.scatter(*points.T, c=level, cmap="YlGnBu_r", s=max(2.0, min(60.0, 16_000 / len(points))))
        ax.figure.colorbar(dots, ax=ax, label=r"level: the probability is $e^{-\varepsilon L} / Z$")
        ax.set_xlabel("noise of the first number")
        ax.set_ylabel("noise of the second number")
        ax.set_aspect("equal", adjustable="datalim")
    ax.set_title(title, fontsize=10)
    return ax


def levels(levels: Levels, ax: Axes | None = None) -> Axes:
    """Draw the optimal level of each layer beside the levels of Theorem 1, which descend.

    Parameters
    ----------
    levels : Levels
        Result of `optimal_levels`.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    """
    ax = axes_or_new(ax)
    t = np.arange(len(levels.levels))
    ax.plot(t, -t, "s--", color="#969696", label=f"$-t$: loss {levels.descending_value:.4g}")
    ax.plot(t, levels.levels, "o-", color="#08519c", label=f"optimal: loss {levels.value:.4g}")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("layer $t$")
    ax.set_ylabel(r"level $z_t$: the weight is $e^{\varepsilon z_t}$")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    return ax
