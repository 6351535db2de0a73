"""Cones of columns by their extreme rays: designs for graphs, metrics and one-sided privacy.

In: a notion that ties pairs of answers, and the answers. Out: all extreme rays of its cone, with their logarithms in
integers, to price columns in floats and to check the proof of a bound in rationals.

The proof of a bound trusts this list: `DesignCertificate.recheck` lists the rays by the same code as the search, and a
ray that were missing would be a column that nobody prices. The list is complete if the neighbors of each ray along all
edges of the polytope are in it, as its edges connect all vertices (`vertices`); tests hold the edges against a plain
enumeration of all trees of tight ties. A missing ray can make a bound too large; value, bias and privacy of the
mechanism do not depend on the list.
"""
