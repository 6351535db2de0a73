"""The ground of every room: checks of what a user states, labels, exact budgets, rows over a channel, files.

In: numbers, labels and paths as a user gives them. Out: sound arrays, labels and budgets, or an error in words.
"""
