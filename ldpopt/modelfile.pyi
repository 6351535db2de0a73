from ldpopt.statement.modelfile import *
