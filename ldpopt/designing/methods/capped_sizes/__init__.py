"""Capped designs for the frequencies of any number of answers: by symmetry a report is a set whose
size alone matters, so that columns are sizes with two values.
"""
