"""Designs for product alphabets, such as those of marginals: sets with all their images under the
symmetries.
"""
