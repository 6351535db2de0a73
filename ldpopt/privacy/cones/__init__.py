"""Cones of columns by their extreme rays: designs and best channels for every notion about single
reports.

In: a notion, and the answers. Out: all extreme rays of its cone: for prices of columns in floats,
and for the check of a bound in rationals. There are two kinds of lists. Of ties of pairs, an entry
of a ray is a power of ``e**-epsilon``, and the list has the exponents in integers (`rays`,
`vertices`). Of other comparisons, the rays are integers themselves (`exact_rays`): averages of
several answers have no logarithms. Where ties have few different distances, their rays are written
in powers of a rational, too, for utilities of columns that are no functions of logarithms.

Some notions allow reports of one answer alone, about which nothing is compared. The allowed columns
are then no cone, but sums of rays and of such unit columns are all channels, so that the units are
listed with the rays. The notion gives these reports their labels (`Notion.reports`).

The proof of a bound trusts this list: `DesignCertificate.recheck` lists the rays by the same code
as the search. The list is complete if it has the neighbors of each ray along all edges of the
polytope, since edges connect all vertices (`vertices`); tests compare it with a plain enumeration
of all trees of tight ties. A missing ray can make a bound too large; value, bias and privacy of the
mechanism do not depend on the list.
"""
