"""A term of the loss is so small against the others that it has no say.

## What it checks
Each term of the loss that compares a prediction with a target is computed by its own formula, weight
included, for a good and for a poor prediction. A term below a ten-thousandth of the others in both is
reported; what shrinks with the size of the picture is taken at 128 pixels in a batch of 8. For a spectrum
that shrinks so, as with `norm="forward"` and a mean, a hundredth is the limit. A mean that cannot
be computed so is judged by its weight alone, where that is a billionth of another mean's, or a few millionths
of another term's for a loss whose values are known to be no huge numbers. A term whose sides are all
detached, or that is computed without gradients, has no say at all; nor has one whose weight is counted up
with the epochs in such a way that it is zero in all of them, or one whose sum with the loss nobody keeps, or
one whose weight is looked up by a name that the weights do not have and so falls back to zero.

## Why it matters
The term is paid for in time and memory and trusted to shape the result, and its gradient drowns in the noise
of the others. Usual reasons are a mean taken on top of a division by the number of pixels, a weight meant for
a sum, or a slip in the exponent.

## When it is harmless
A term whose weight grows during training, or which is kept for its log line, may be small on purpose. Terms
that cannot be computed from their formula (networks, samples) are not judged, nor is anything judged by how
far features of one network are from those of another: their numbers may be of any size. The square of a mean
error is small as long as errors come and go, and is not reported.

## References
- IEEE 754: half precision resolves a share of 5e-4, so a gradient below 1e-4 of its sum is rounded away
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.edits.statements import blocks_around, is_name_chain, without_header
from stethoscope.program.index import dotted
from stethoscope.program.objective.idle_terms import CUT, DROPPED, MISNAMED, WEIGHED_OUT
from stethoscope.program.objective.term_sizes import ERRORS, SHRINKS, TermSize, with_assumed
from stethoscope.program.objective.term_weights import TermWeight
from stethoscope.program.objective.unwrapping import without_call
from stethoscope.program.walk.values import Site
from stethoscope.run import Fix, Level, Where
from stethoscope.signals.term_sizes import TermSizes

RULE = Rule(code="OBJ104", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

NEGLIGIBLE = 1e-4  # of the other terms; half precision resolves 5e-4
# Of the other terms, for a spectrum that gets smaller the larger the picture is: the mean of one that was
# divided by the number of pixels is 9e-3 of the pixel term at 128 pixels, and the square of it far less.
FADED = 1e-2
UNSIZED = 1e-2  # what a loss that cannot be computed is at least while something is left to learn
UNSEEN = 1e-9  # of another weight, for means whose size is not known; float32 resolves 6e-8 of a sum
# Of any other weight, for means of known losses: a mean squared error of pixels up to 255 stays below 1e5.
UNHEARD = 5e-6
IDLE = {
    CUT: "no gradient goes through this term: it adds a number to the loss and teaches nothing",
    WEIGHED_OUT: "the weight of this term is zero in every round of training: it teaches nothing",
    MISNAMED: "the weights have no entry of this term's name, and one that nothing asks for: it counts zero",
    DROPPED: "this sum is computed and thrown away: the term is not in what is minimised",
}


def examine(sizes: TermSizes) -> Iterator[Finding]:
    """Report each term that is negligible whatever the prediction."""
    told: set[int] = set()
    for terms in sizes:
        known = [one for one in terms if not (one.compares and one.is_of_features)]
        for term in (one for one in known if one.compares and not one.is_of_averages):
            share = _largest_share(term, [other for other in known if other is not term])
            if share is not None and share < (FADED if _fades(term) else NEGLIGIBLE):
                yield Finding(
                    where=_places(term.scaled_at, term.site, term.made_at, term.spectrum, term.sink),
                    message=f"this term is {share:.1g} of the other terms of the loss{with_assumed(term)}",
                    evidence={"share": share, "term": term.site.text},
                    proof="computed by its own formula, weight included",
                )
                told.add(id(term.site.node))
    for weighed in sizes.weights:
        other = _largest_other(weighed)
        if other is not None and id(weighed.site.node) not in told:
            told.add(id(weighed.site.node))
            yield Finding(
                where=_places(weighed.site, weighed.made_at, weighed.sink),
                message=f"this mean has a weight of {weighed.weight:.1g}, and another term {other:g}",
                evidence={"weight": weighed.weight, "largest other weight": other},
            )
    for idle in sizes.idle:
        yield Finding(
            where=tuple(dict.fromkeys((idle.cut.where, idle.site.where, idle.sink.where))),
            message=IDLE[idle.why],
            evidence={"cut": idle.cut.text, "term": idle.site.text, "why": idle.why},
            fix=_fix(idle.why, idle.cut),
        )


def _places(*sites: Site | None) -> tuple[Where, ...]:
    return tuple(dict.fromkeys(site.where for site in sites if site is not None))


def _fades(term: TermSize) -> bool:
    return term.is_spectral and term.growth < SHRINKS


def _largest_other(term: TermWeight) -> float | None:
    """The weight beside which that of a term is nothing."""
    if 0 < term.weight < UNSEEN * term.others:
        return term.others
    if term.is_bounded and 0 < term.weight < UNHEARD * term.largest:
        return term.largest
    return None


def _largest_share(term: TermSize, others: list[TermSize]) -> float | None:
    shares = []
    for error in ERRORS:
        rest = sum(other.in_use(error) for other in others) or (UNSIZED * term.beside if _fades(term) else 0)
        if not rest:
            return None
        shares.append(term.in_use(error) / rest)
    return max(shares) if max(shares) > 0 else None


def _fix(why: str, cut: Site) -> Fix | None:
    """The sum kept under the name of its first term, or what takes the gradient away taken out."""
    node, source = cut.node, cut.source
    around = blocks_around(source, node)
    statement = around[0][0][around[0][1]] if around else None
    if why == DROPPED and isinstance(node, ast.BinOp) and is_name_chain(node.left):
        is_alone = isinstance(statement, ast.Expr) and statement.value is node
        splice = replaced(source, node, f"{ast.unparse(node.left)} = {cut.text}") if is_alone else None
        return Fix("keep the sum", Level.SAFE, (splice,)) if splice is not None else None
    if why != CUT:
        return None
    if isinstance(node, ast.Call) and dotted(node.func) == "torch.tensor" and len(node.args) == 1:
        return without_call(cut, "take the tensor as it is")
    entered = [block[place] for block, place in around if isinstance(block[place], ast.With)]
    if len(entered) != 1 or not isinstance(entered[0], ast.With):
        return None
    is_off = ast.unparse(entered[0].items[0].context_expr) in {"torch.no_grad()", "torch.inference_mode()"}
    opened = without_header(source, entered[0]) if is_off and len(entered[0].items) == 1 else None
    return Fix("record gradients in this term", Level.UNSAFE, (opened,)) if opened is not None else None
