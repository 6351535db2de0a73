"""Cones of columns by their extreme rays: designs for graphs, metrics and one-sided privacy.

In: a notion that ties pairs of answers, and the answers. Out: all extreme rays of its cone, with their logarithms in
integers, to price columns in floats and to check the proof of a bound in rationals.
"""
