"""A benign case: an exponential curriculum raises the training loss while the model improves.

It is protein-sedd with all of its cures, which keep the curriculum.
"""

from __future__ import annotations

from stethoscope.clinic.case import Case, Change, Role, Size
from stethoscope.clinic.cases.protein_sedd import case as protein_sedd
from stethoscope.clinic.cases.protein_sedd.cure import CONFIG
from stethoscope.clinic.edit import Edit

HEALTHY = tuple(edit for change in protein_sedd.CURES for edit in change.edits)
EXPONENTIAL = "  difficulty_ramp: exponential\n"

CASE = Case(
    name="exponential-curriculum",
    title="A training loss that rises as it should",
    story=(
        "Absorbing diffusion on protein-like sequences, with every fault of protein-sedd mended. The task "
        "gets harder for a quarter of the run, so the training loss rises; validation is always equally "
        "hard, and its loss falls. Nothing is wrong, and another ramp, or none, changes nothing that "
        "matters."
    ),
    project=protein_sedd.CASE.project,
    sources=protein_sedd.CASE.sources,
    command=protein_sedd.CASE.command,
    run=protein_sedd.CASE.run,
    evaluate=protein_sedd.CASE.evaluate,
    needs=("torch",),
    metric=protein_sedd.METRIC,
    changes=(
        Change(
            "linear-ramp",
            "Make the ramp linear",
            Role.ADVICE,
            (Edit(CONFIG, EXPONENTIAL, "  difficulty_ramp: linear\n", "a ramp that is even"),),
            ("003.7",),
            ("no effect",),
        ),
        Change(
            "cosine-ramp",
            "Make the ramp a cosine",
            Role.ADVICE,
            (Edit(CONFIG, EXPONENTIAL, "  difficulty_ramp: cosine\n", "a ramp that starts slowly"),),
            ("003.7",),
            ("no effect",),
        ),
        Change(
            "no-curriculum",
            "Train without the curriculum",
            Role.ADVICE,
            (Edit(CONFIG, "  enabled: true\n", "  enabled: false\n", "full difficulty from the first step"),),
            ("003.6",),
            ("no effect",),
            yardstick=True,
        ),
        Change(
            "slower-curriculum",
            "Slow the curriculum down four times",
            Role.ADVICE,
            (Edit(CONFIG, "  preschool_time: 512\n", "  preschool_time: 2048\n", "four times slower"),),
            ("003.7",),
            ("no effect",),
        ),
        *(change for change in protein_sedd.PLACEBOS if change.name != "denser-log"),
    ),
    sizes=tuple(Size(size.name, (*size.edits, *HEALTHY), size.seconds) for size in protein_sedd.SIZES),
    exaggerated=protein_sedd.CASE.exaggerated[:2],
    benign=True,
)
