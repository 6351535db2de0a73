from ldpopt.mechanism.sampling import *
