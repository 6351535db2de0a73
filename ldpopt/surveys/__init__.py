"""Questionnaires: what is asked (`statement`), of whom (`schemes`), one pass of counting, and files.

In: questions with their answers, and the budget of a person. Out: a `Survey`, its reports and its estimates.
"""
