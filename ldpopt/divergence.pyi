from ldpopt.auditing.divergence import *
