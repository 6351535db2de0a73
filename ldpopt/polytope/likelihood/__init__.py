"""Product: best private channels for functions of a likelihood ratio, with any number of answers.

In: a utility with a pair (p, q), and a budget. Out: the best channel, with a bound in rationals.
`search`, `dual` and `polish` look for it, in floats and fixed-point numbers; `bound`, `enclosures`
and `certificate` prove it and import nothing of these.
"""
