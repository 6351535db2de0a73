from ldpopt.statement.constraints import *
