from ldpopt.noise.layers import *
