"""Product: surveys in two stages: a pilot of some people, then everybody else by the mechanism that
is best at what the pilot found.

`adapted` takes a family of distributions and a pilot's estimate of its parameter, `estimate` the
reports of both stages; `quantile` and `estimate_quantile` do the same for a median or another
quantile, without any family.

Each person is asked once. The mechanism of the second stage depends on the reports of *others*, and
has the same epsilon whatever these were, so that every person has epsilon in both stages, given
everything else. This needs: who is in which stage is drawn before the pilot, without regard to
answers; nobody is in both; the mechanism depends on reports only, never on answers; and the device
checks the epsilon of the mechanism that it is sent.
"""

import lazy_loader  # type: ignore[import-untyped]

# Imported when they are used: commands that read a survey start without the searches.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "families": ["AnswerFamily", "GaussianMean", "Rate", "family_of"],
        "maximum": ["estimate"],
        "parameter": ["adapted", "optimum"],
        "quantiles": ["estimate_quantile", "quantile"],
    },
)
