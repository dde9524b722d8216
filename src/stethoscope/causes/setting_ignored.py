"""A setting is written down and does nothing.

## How it works
It is misspelt, unknown to this version of the framework, read as a string, parsed and never used, or due
first behind the end of the run.
The run is not the experiment its settings describe.

## How to tell it from its look-alikes
A setting that only takes effect through something this reading cannot follow is not examined, and not this.

## What cures it
Correct the name or the type, or make the code use it.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, Cause, Evidence, says

CAUSE = Cause(
    title="A setting has no effect",
    prior=COMMON,
    evidence=(
        Evidence("switch-misspelt", DECISIVE, "a switch has a name that nobody reads", when=says("trained")),
        Evidence("hook-never-called", DECISIVE, "nothing calls the hook", when=says("other")),
        Evidence("method-named-not-called", DECISIVE, "a method is named and not called", when=says("other")),
        Evidence("learning-rate-above-asked", STRONG, "the log shows a higher learning rate"),
        Evidence("setting-outranked", DECISIVE, "another setting takes its place"),
        Evidence("setting-never-used", DECISIVE, "the value reaches nothing but messages"),
        Evidence("default-read-instead", DECISIVE, "the source looks elsewhere and takes its default"),
        Evidence("never-due-in-run", DECISIVE, "the run is over before it is due"),
        Evidence("text-taken-for-truth", DECISIVE, "a no is taken for a yes"),
        Evidence("rate-written-over", DECISIVE, "every round replaces the rate by a number of the code"),
        Evidence("computed-rate-goes-nowhere", DECISIVE, "the schedule is drawn in the log and never set"),
        Evidence("setting-only-switches", DECISIVE, "the source takes another number for it"),
        Evidence("decay-left-out", DECISIVE, "the optimizer in use is made without it"),
        Evidence(
            "optimizer-of-another-kind",
            DECISIVE,
            "another optimizer is made under its name",
            when=says("decay", False),
        ),
        Evidence("update-thrown-away", -STRONG, "what takes the value gives its result to nobody"),
        Evidence("unknown-setting", DECISIVE, "the framework does not know the key"),
        Evidence("unknown-argument", MODERATE, "the class does not take the keyword"),
        Evidence("number-is-a-string", STRONG, "the number is read as a string"),
        Evidence("word-is-a-boolean", STRONG, "the word is read as true or false"),
        Evidence("number-in-another-base", STRONG, "the number is read to another base"),
        Evidence("learning-rate-not-reached", STRONG, "the log shows another learning rate"),
        Evidence("setting-given-twice", STRONG, "only the last of two values counts"),
        Evidence("setting-overwritten", DECISIVE, "the code replaces the value before it is read"),
    ),
    confirm_by="run five steps with the setting changed: losses stay bit-identical",
)
