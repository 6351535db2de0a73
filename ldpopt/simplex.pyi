from ldpopt.certificate.simplex import *
