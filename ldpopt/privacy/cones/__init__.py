"""Cones of columns by their extreme rays: designs for graphs, metrics and one-sided privacy.

In: a notion that ties pairs of answers, and the answers. Out: all extreme rays of its cone, with
their logarithms in integers: for prices of columns in floats, and for the check of a bound in
rationals.

The proof of a bound trusts this list: `DesignCertificate.recheck` lists the rays by the same code
as the search. The list is complete if it has the neighbors of each ray along all edges of the
polytope, since edges connect all vertices (`vertices`); tests compare it with a plain enumeration
of all trees of tight ties. A missing ray can make a bound too large; value, bias and privacy of the
mechanism do not depend on the list.
"""
