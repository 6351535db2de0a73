"""More answers than are listed: a bound from a relaxation first, then sets drawn from its moments."""

from __future__ import annotations

from typing import Any

from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.from_columns import from_columns
from ldpopt.designing.limits import DesignLimits
from ldpopt.designing.methods.method import DesignMethod, DesignTask, RawDesign
from ldpopt.designing.methods.relaxation.columns import generate_large
from ldpopt.designing.worst_large import generate_worst_large


class Relaxation(DesignMethod):
    """A semidefinite relaxation bounds all designs; its moments say which sets are good."""

    name = "relaxation"

    def suits(self, form: DesignForm, limits: DesignLimits) -> bool:
        """Pure privacy, more answers than are listed."""
        return form.staircases is not None and form.n > limits.listed_answers

    def because(self, form: DesignForm, limits: DesignLimits) -> str:
        """Number of answers."""
        return f"the sets of {form.n} answers are too many to list: the bound is that of the elliptope"

    def solve(self, task: DesignTask) -> RawDesign:
        """Bound, then columns until the value is near it."""
        form, cone = task.form, task.form.staircases
        assert cone is not None
        how: dict[str, Any] = {"gap": task.gap, "deadline": task.deadline, "candidates": form.candidates}
        if form.is_worst_case:
            return from_columns(task, generate_worst_large(form.gram, cone, form.hints, **how)[0])
        return from_columns(task, generate_large(form.contrasts, cone, form.hints, **how))
