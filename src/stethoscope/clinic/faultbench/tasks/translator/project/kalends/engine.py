"""A run, from its recipe to its last update."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader

from kalends.corpus import Batch, EpochOrder, Feed, Pairs, collate
from kalends.criterion import mark_costs, terms_of, weighted
from kalends.journal import Sink, open_sink
from kalends.layers import Translator
from kalends.optim import Shadow, make_annealing, make_optimizer
from kalends.recipe import Recipe
from kalends.snapshots import keep
from kalends.speaking import agree, greedy
from kalends.vocabulary import FILL


@dataclass
class Session:
    """Everything that changes while a run goes on."""

    recipe: Recipe
    folder: Path
    net: Translator
    shadow: Shadow | None
    optimizer: torch.optim.Optimizer
    annealing: torch.optim.lr_scheduler.LRScheduler
    feed: Feed
    judged_on: DataLoader
    sink: Sink
    update: int = 0
    best: float = float("inf")
    sums: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @property
    def judged(self) -> Translator:
        """The network that is validated and handed out."""
        return self.net if self.shadow is None else self.shadow.net


def begin(recipe: Recipe, folder: Path, seed: int) -> Session:
    torch.manual_seed(seed)
    corpus, run = recipe.corpus, recipe.run
    pairs = Pairs(corpus.root, "train", corpus.first_pairs)
    order = EpochOrder(pairs, corpus.reshuffle, seed, corpus.short_epochs)
    net = Translator(recipe.model)
    optimizer = make_optimizer(net, recipe.optim)
    return Session(
        recipe,
        folder,
        net,
        Shadow(net, run.shadow) if run.shadow else None,
        optimizer,
        make_annealing(optimizer, recipe.anneal),
        Feed(order, corpus.pairs_per_batch // run.micro_batches),
        DataLoader(Pairs(corpus.root, "val"), batch_size=64, collate_fn=collate),
        open_sink(recipe.journal.sink, folder, run.updates),
    )


def numerics(session: Session):
    is_mixed = session.recipe.run.numerics == "bf16"
    return torch.autocast("cpu", dtype=torch.bfloat16) if is_mixed else nullcontext()


def fit(session: Session) -> None:
    run, journal = session.recipe.run, session.recipe.journal
    batches = iter(session.feed)
    session.net.train()
    while session.update < run.updates:
        started = time.perf_counter()
        make_update(session, batches)
        session.update += 1
        session.sums["seconds"].append(time.perf_counter() - started)
        if session.update % journal.each == 0:
            tell_progress(session)
        if session.update % run.validate_each == 0:
            validate(session)
        if session.update % run.snapshot_each == 0:
            keep(session, session.folder / "snapshots" / f"update_{session.update:05d}.pt")


def make_update(session: Session, batches: Iterator[Batch]) -> None:
    """Gather the gradients of some batches and move the weights once."""
    micro_batches = session.recipe.run.micro_batches
    session.optimizer.zero_grad()
    for _ in range(micro_batches):
        batch = next(batches)
        with numerics(session):
            logits, manner = session.net(batch.spoken, batch.given)
        terms = terms_of(session.recipe.criterion, logits, manner, batch)
        loss = weighted(session.recipe.criterion, terms)
        (loss / micro_batches).backward()
        session.sums["loss"].append(loss.item())
        for name, term in terms.items():
            session.sums[name].append(term.item())
    limit = session.recipe.optim.max_grad_norm or float("inf")
    session.sums["gradient"].append(clip_grad_norm_(session.net.parameters(), limit).item())
    session.sums["lr"] = [session.optimizer.param_groups[0]["lr"]]
    session.optimizer.step()
    session.annealing.step()
    if session.shadow is not None:
        session.shadow.follow(session.net)


def tell_progress(session: Session) -> None:
    """The means since the last time, as far as the recipe wants to know them."""
    journal = session.recipe.journal
    means = {name: sum(values) / len(values) for name, values in session.sums.items()}
    session.sums.clear()
    numbers = {"loss": means["loss"]}
    if journal.terms:
        numbers |= {"translation": means["translation"], "manner": means["manner"]}
    if journal.lr:
        numbers["lr"] = means["lr"]
    if journal.gradient:
        numbers["gnorm"] = means["gradient"]
    if journal.speed:
        numbers["ms"] = 1000 * means["seconds"]
    session.sink.tell("train", session.update, numbers)


def validate(session: Session) -> None:
    numbers = measure(session.judged, session.judged_on)
    session.sink.tell("valid", session.update, numbers)
    if numbers["nll"] < session.best:
        session.best = numbers["nll"]
        keep(session, session.folder / "best.pt")


@torch.no_grad()
def measure(net: Translator, loader: DataLoader) -> dict[str, float]:
    """Nats per mark with a teacher, and how many dates are right without one."""
    net.eval()
    nats, marks, right, dates = 0.0, 0, 0, 0
    for batch in loader:
        logits, _ = net(batch.spoken, batch.given)
        nats += mark_costs(logits, batch.wanted).sum().item()
        marks += int((batch.wanted != FILL).sum())
        said = greedy(net, batch.spoken, longest=batch.wanted.shape[1])
        right += int(agree(said, batch.wanted).sum())
        dates += len(batch)
    net.train()
    return {"nll": nats / marks, "exact": right / dates}
