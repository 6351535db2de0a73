from ldpopt.privacy.neighbors import *
