from ldpopt.estimation.frequencies import *
