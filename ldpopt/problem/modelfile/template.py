"""A commented model file to begin with."""

from collections.abc import Sequence

from ldpopt.foundation.budget import Budget
from ldpopt.privacy.notion import KINDS
from ldpopt.privacy.plain import plain_budget
from ldpopt.problem.modelfile.write import format_value

TEMPLATE = """\
# A model of ldpopt: the answers, the utility of the reports, and the privacy.
# Next:  ldpopt check FILE     reads it, and prints how it would be solved
#        ldpopt {verb} FILE    {promise}
# All keys: `Model files` in the documentation. Ready models: `ldpopt models`.

title = {title}

[alphabet]
inputs = {inputs}  # the possible answers, which are the reports too; or also outputs = [...]

[prior]
uniform = true                    # what you assume about the answers before asking; or instead:
# weights = {weights}  # by label, counts or shares
# dataset = "anes96:PID"          # a question of an installed data set: needs pip install "ldpopt[data]"

{aim}
[privacy]
kind = "pure"                     # every answer is protected against every other
# other kinds: {kinds}
epsilon = {epsilon}  # nats, or "log(3)": a report changes the odds of two answers by at most e^epsilon

# [expect]                        # `ldpopt {verb}` fails if the result is another one
# {expect}
"""

UTILITY = """\
[utility]
kind = "identity"                 # the share of true reports; "absolute_error" for steps on a scale; or a matrix:
# gain = {matrix}  # a row for each answer, a column for each report; or loss = ...

# [workload]                      # instead, if you want estimates of all people together: `ldpopt init --estimate`
# kind = "frequencies"
"""

WORKLOAD = """\
[workload]                        # what is to be estimated from all reports together
kind = "frequencies"              # the share of each answer; "prefix": of those up to each; "ranges"; "mean"; ...

# [utility]                       # if single reports should be near the truth: `ldpopt solve`
# kind = "identity"
"""

COMMENT = 34  # column of the comments


def template(title: str, inputs: Sequence[str], epsilon: str | float, *, estimate: bool = False) -> str:
    """Text of a model file with comments."""
    verb = "design" if estimate else "solve"
    matrix = [[float(x == y) for y in range(len(inputs))] for x in range(len(inputs))]
    text = TEMPLATE.format(
        verb=verb,
        kinds=", ".join(kind for kind in KINDS if kind != "pure"),
        promise="finds the best mechanism, with a proof",
        title=format_value(title),
        inputs=format_value(list(inputs)),
        weights=format_value({format_value(name): 1 for name in inputs}),
        aim=WORKLOAD if estimate else UTILITY.format(matrix=format_value(matrix, flat=True)),
        epsilon=format_value(plain_budget(Budget(epsilon))),
        expect="variance = 4.5" if estimate else "value = 0.75",
    )
    return "\n".join(map(_aligned, text.splitlines())) + "\n"


def _aligned(line: str) -> str:
    """Move the comment of a line to the column of the others."""
    entry, mark, comment = line.rpartition("  # ")
    return f"{entry.rstrip():<{COMMENT - 1}} # {comment.strip()}" if mark and entry.strip() else line
