"""What is asked: who answers, what a good answer is worth, what else must hold.

In: numbers, labels, data sets and model files. Out: a `Problem` in which every label has found its place.
"""
