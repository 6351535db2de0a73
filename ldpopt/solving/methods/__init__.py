"""The methods of solving a problem, one file each; `ldpopt.solving.plan` chooses among them."""
