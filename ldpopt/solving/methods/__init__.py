"""Ways to solve a channel program, one file each; `ldpopt.solving.plan` says which suits which problem."""
