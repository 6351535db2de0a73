"""Product: surveys of several questions: mechanisms, schemes, reports in tables, estimates, and
files in TOML and JSON.

In: questions with their answers, and the budget of a person. Out: a `Survey`, its reports and its
estimates.
"""
