from ldpopt.polytope.convex import *
