from ldpopt.solving.exact.simplex import *
