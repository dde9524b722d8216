"""forecast: how a curve goes on, with a band that says how well that is known, or why it cannot be said.

lr_sums.py      what a schedule has spent and annealed up to a step
families.py     curves that losses follow, fitted robustly
prediction.py   the back-test that a forecast must pass, and its band
"""
