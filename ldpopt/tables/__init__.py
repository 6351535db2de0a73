"""Core: tables of answers and reports: CSV and Parquet files read and written in batches,
dataframes of any library.

In: a file or a dataframe, and the names of columns. Out: batches of columns, and labels as
positions in an alphabet.
"""
