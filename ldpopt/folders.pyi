from ldpopt.studies.folders import *
