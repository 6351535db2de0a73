from ldpopt.statement.utility import *
