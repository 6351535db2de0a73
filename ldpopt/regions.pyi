from ldpopt.polytope.regions import *
