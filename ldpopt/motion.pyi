from ldpopt.statement.motion import *
