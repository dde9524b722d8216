"""The judges of one optimizer step, one file per concern: pure, and without torch.

A judge is a frozen state, `begin()`, and `update(state, clock, seen, ...) -> (state, happenings)`. `clock`
counts the steps that were judged, from 1; it never goes back, as the step of a rewound run may. A judge says
what it wishes for; `answers` decides what it gets, and `telling` how often it is heard.
"""
