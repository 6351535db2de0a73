from ldpopt.studies.simulate import *
