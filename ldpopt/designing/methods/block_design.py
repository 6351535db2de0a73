"""Workloads that no permutation of the answers changes: balanced sets of the best size are optimal."""

from __future__ import annotations

from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.limits import DesignLimits
from ldpopt.designing.methods.method import DesignMethod, DesignTask, RawDesign
from ldpopt.designing.realize import raw_design


class BlockDesign(DesignMethod):
    """A block design on the answers, with as few reports as are known."""

    name = "block design"

    def suits(self, form: DesignForm, limits: DesignLimits) -> bool:
        """Pure privacy, every permutation a symmetry, a block design known."""
        return form.balanced is not None

    def because(self, form: DesignForm, limits: DesignLimits) -> str:
        """The reason names the symmetry and the sets."""
        assert form.balanced is not None
        return (
            "no permutation of the answers changes the problem: "
            f"{len(form.balanced.q)} sets of one size, every two answers together equally often"
        )

    def solve(self, task: DesignTask) -> RawDesign:
        """Report one of the sets, all equally likely."""
        assert task.form.balanced is not None
        return raw_design(task, task.form.balanced)
