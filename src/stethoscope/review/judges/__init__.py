"""The judges of a proposed setting: one file per reason, found by folder, asked in the order of their PLACE.

A module holds PLACE and `judge(question)`, which gives a `Judgement` where its reason applies, else None. The
first that rules decides.
"""
