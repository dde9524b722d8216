"""Samples of data sets, made on small invented pictures to see what the making does to them."""
