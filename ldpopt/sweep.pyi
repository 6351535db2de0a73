from ldpopt.studies.sweep import *
