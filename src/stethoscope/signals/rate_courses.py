"""The courses that the source gives its learning rates, and whether they fit the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.loop.course_ends import CourseEnd, Misfit, course_end
from stethoscope.program.loop.rate_courses import rate_courses
from stethoscope.run import Run
from stethoscope.signals import training_loops
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class RateCourses:
    """How many courses could be computed, and those that do not fit their runs."""

    count: int
    misfits: tuple[CourseEnd, ...]

    def of(self, misfit: Misfit) -> Iterator[CourseEnd]:
        """The courses that do not fit in one way, each place once."""
        seen = set()
        for one in self.misfits:
            if one.misfit is misfit and one.course.site.where not in seen:
                seen.add(one.course.site.where)
                yield one


def measure(run: Run) -> RateCourses | Missing:
    """Compute the courses of the rates of every training loop."""
    loops = training_loops.measure(run)
    if isinstance(loops, Missing):
        return loops
    courses = [course for loop in loops for course in rate_courses(loop)]
    if not courses:
        return Missing("no course of a learning rate could be computed from the source")
    ends = (course_end(course) for course in courses)
    return RateCourses(len(courses), tuple(end for end in ends if end is not None))
