"""Cones of columns by their extreme rays: designs for graphs, metrics and one-sided privacy.

In: a notion that ties pairs of answers, and the answers. Out: all extreme rays of its cone, with their logarithms in
integers. The proof of a bound trusts that this list is complete, which tests compare with a plain enumeration of trees;
value, bias and privacy of a mechanism do not depend on the list.
"""
