"""The nouns everybody shares."""

from stethoscope.run.checkpoint import Checkpoint, Holds
from stethoscope.run.log import Document, Event, EventKind, Log, Segment, Unread
from stethoscope.run.packages import Package
from stethoscope.run.program import Program, Source
from stethoscope.run.proof import Proof
from stethoscope.run.recipe import ConfigFile, Key, Recipe, Setting
from stethoscope.run.run import Run
from stethoscope.run.series import Aggregation, Series, Steps, Values
from stethoscope.run.splice import Fix, Level, Splice
from stethoscope.run.where import Where

__all__ = [
    "Aggregation",
    "Checkpoint",
    "ConfigFile",
    "Document",
    "Event",
    "EventKind",
    "Fix",
    "Holds",
    "Key",
    "Level",
    "Log",
    "Package",
    "Program",
    "Proof",
    "Recipe",
    "Run",
    "Segment",
    "Series",
    "Setting",
    "Source",
    "Splice",
    "Steps",
    "Unread",
    "Values",
    "Where",
]
