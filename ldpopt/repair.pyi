from ldpopt.mechanism.repair import *
