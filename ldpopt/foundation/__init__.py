"""Core: shared foundations: checks of user input, labels, exact budgets, rows over a channel,
files.

In: numbers, labels and paths as a user gives them. Out: valid arrays, labels and budgets, or an
error.
"""
