from ldpopt.estimation.mean import *
