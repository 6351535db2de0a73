"""Product: optimal designs: the private mechanism from which a workload is estimated with the
smallest error.

A design is an optimal experimental design in the sense of approximate design theory: private
columns are the design points, their probabilities the weights, and the proof is the equivalence
theorem (no column has a larger sensitivity than the optimum allows). The average variance is
L-optimality, the worst case is minimax.

`design` reads a `DesignProblem`, finds its facts (`design_form`), chooses methods (`plan`), runs
them (`methods/`), and finishes with `prove_design`. The methods may fail; the certificate is
checked in rationals and does not depend on them.
"""

import lazy_loader  # type: ignore[import-untyped]

# Imported when they are used: commands that read a design start without the searches.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "capped_design": ["CappedDesign"],
        "capped_frequency_design": ["CappedFrequencyDesign"],
        "comparison": ["DesignComparison", "compare_designs"],
        "frequency_design": ["FrequencyDesign"],
        "others": ["OtherMechanism", "OwnMechanism"],
        "questions_design": ["QuestionsDesign"],
        "record": ["Design"],
        "saved": ["load_design", "save_design"],
    },
)
