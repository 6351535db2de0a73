from ldpopt.studies.experiment import *
