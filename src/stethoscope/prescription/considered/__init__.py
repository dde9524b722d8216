"""What people try first, and why it is not recommended here. One file per idea, found by folder.

A module holds `consider(case)`, which gives a `NotRecommended` where the idea is already set, cannot
act, or is unknown to the framework, and None where nothing speaks against it.
"""
