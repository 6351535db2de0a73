from ldpopt.statement.datasets import *
