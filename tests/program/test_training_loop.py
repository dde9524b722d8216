"""Training loops are found in whatever style they are written, with their moves in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.program.index import index
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.training_loop import TrainingLoop, level, training_loops
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.walk.values import Applied
from tests.program.program_text import program_of

SHOWN = {
    Kind.ZERO_GRAD: "zero",
    Kind.BACKWARD: "backward",
    Kind.UNSCALE: "unscale",
    Kind.CLIP: "clip",
    Kind.STEP: "step",
    Kind.SCALER_STEP: "scaler.step",
    Kind.SCALER_UPDATE: "scaler.update",
    Kind.SCHEDULER_STEP: "schedule",
}


def the_loop(folder: Path, text: str) -> TrainingLoop:
    (loop,) = training_loops(index(program_of(folder, train=text)), settings_tree(None))
    return loop


def moves_of(loop: TrainingLoop) -> list[str]:
    return [SHOWN[move.kind] for move in loop.moves if move.kind in SHOWN]


def test_a_script_that_accumulates(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch
from torch import nn

def main(args):
    model = nn.Linear(8, 1).cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.epochs)
    for epoch in range(args.epochs):
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.mse_loss(model(x), y) / args.accum
            loss.backward()
            if (i + 1) % args.accum == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
        sched.step()

main(parser.parse_args())
""",
    )
    assert moves_of(loop) == ["backward", "clip", "step", "zero"]
    assert [level(loop.run, scope) for scope in loop.loops] == ["batch", "epoch"]
    assert sorted(len(path.of(Kind.STEP)) for path in loop.paths) == [0, 1]
    assert [move.kind for move in loop.after] == [Kind.SCHEDULER_STEP]


def test_a_class_whose_step_returns_early(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch

class Trainer:
    def __init__(self, model, loader, cfg):
        self.model = torch.nn.parallel.DistributedDataParallel(model.to(cfg.device))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=cfg.lr)
        self.scaler = torch.cuda.amp.GradScaler(enabled=cfg.amp)
        self.loader = loader
        self.cfg = cfg

    def train(self):
        for epoch in range(self.cfg.epochs):
            for step, batch in enumerate(self.loader):
                self.train_step(batch, step)

    def train_step(self, batch, step):
        loss = self.model(batch["x"], batch["y"]).loss
        if not torch.isfinite(loss):
            return
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
""",
    )
    assert moves_of(loop) == ["backward", "unscale", "clip", "scaler.step", "scaler.update", "zero"]
    assert loop.of(Kind.BACKWARD)[0].scaled
    assert loop.is_whole


def test_a_lightning_module_that_optimizes_by_hand(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch
import lightning as L

class Lit(L.LightningModule):
    def training_step(self, batch, batch_idx):
        opt_g, opt_d = self.optimizers()
        loss = self.gen(batch).mean()
        opt_g.zero_grad()
        self.manual_backward(loss)
        opt_g.step()
""",
    )
    assert moves_of(loop) == ["zero", "backward", "step"]
    assert loop.hook is not None
    assert not loop.is_whole


BY_HAND = """
import torch
import lightning as L
from torch.optim.lr_scheduler import StepLR

class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.net = torch.nn.Linear(8, 1)

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        self.manual_backward(self.net(batch).mean())
        opt.step()

    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.optimizers().zero_grad()

    def on_train_epoch_end(self):
        self.lr_schedulers().step()

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.net.parameters())
        return GIVEN
"""


@pytest.mark.parametrize(
    "given",
    [
        "[optimizer], [StepLR(optimizer, 30)]",
        "{'optimizer': optimizer, 'lr_scheduler': StepLR(optimizer, 30)}",
        "{'optimizer': optimizer, 'lr_scheduler': {'scheduler': StepLR(optimizer, 30), 'interval': 'epoch'}}",
    ],
)
def test_the_hooks_of_a_module_that_optimizes_by_hand_are_one_loop(tmp_path: Path, given: str) -> None:
    loop = the_loop(tmp_path, BY_HAND.replace("GIVEN", given))
    assert moves_of(loop) == ["backward", "step", "zero"]
    assert [level(loop.run, scope) for scope in loop.loops] == ["batch", "epoch"]
    assert [move.kind for move in loop.after] == [Kind.SCHEDULER_STEP]
    assert loop.is_whole
    zero, step = loop.of(Kind.ZERO_GRAD)[0], loop.of(Kind.STEP)[0]
    assert zero.subject is step.subject


def test_a_generator_goes_through_the_loader_it_is_given(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch

class Log:
    def every(self, iterable, header):
        for i, item in enumerate(iterable):
            yield item
            print(header, i)

def main(dataset, epochs):
    net = torch.nn.Linear(8, 1)
    opt = torch.optim.Adam(net.parameters())
    log = Log()
    source = torch.utils.data.DataLoader(dataset)
    for epoch in range(epochs):
        for x in log.every(source, f"Epoch: [{epoch}]"):
            opt.zero_grad()
            net(x).mean().backward()
            opt.step()
""",
    )
    assert [level(loop.run, scope) for scope in loop.loops] == ["batch", "epoch"]


def test_accelerate(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch
from accelerate import Accelerator

def main():
    accelerator = Accelerator(gradient_accumulation_steps=4)
    model = torch.nn.Linear(3, 3)
    optimizer = torch.optim.AdamW(model.parameters())
    scheduler = get_scheduler("cosine", optimizer)
    model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()

main()
""",
    )
    assert moves_of(loop) == ["backward", "clip", "step", "schedule", "zero"]
    assert loop.of(Kind.BACKWARD)[0].by_engine


def test_fabric(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch
import lightning as L

fabric = L.Fabric(precision="16-mixed")
model = torch.nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = fabric.setup(model, optimizer)
for i, batch in enumerate(loader):
    waits = i % 4 != 0
    with fabric.no_backward_sync(model, enabled=waits):
        fabric.backward(model(batch).sum())
    if not waits:
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
""",
    )
    assert moves_of(loop) == ["backward", "clip", "step", "zero"]
    assert sorted(len(path.moves) for path in loop.paths) == [2, 5]


def test_two_networks_against_each_other(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch
from torch import nn

G, D = nn.Linear(3, 3), nn.Linear(3, 1)
opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for i, real in enumerate(loader):
    opt_d.zero_grad()
    fake = G(noise)
    (D(fake.detach()).mean() - D(real).mean()).backward()
    opt_d.step()
    if i % 5 == 0:
        opt_g.zero_grad()
        (-D(fake).mean()).backward()
        opt_g.step()
""",
    )
    assert moves_of(loop) == ["zero", "backward", "step", "zero", "backward", "step"]
    first, second = loop.of(Kind.STEP)
    assert first.subject is not second.subject


def test_a_closure_of_each_round(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch

model = torch.nn.Linear(3, 3)
optimizer = torch.optim.LBFGS(model.parameters())
for x, y in loader:
    def closure():
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        return loss
    optimizer.step(closure)
""",
    )
    assert sorted(moves_of(loop)) == ["backward", "step", "zero"]
    assert loop.is_seen


def test_a_factory_of_steps(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch

def make_train_step(model, loss_fn, optimizer):
    def perform(x, y):
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()
    return perform

def main():
    model = torch.nn.Linear(1, 1)
    train_step = make_train_step(model, torch.nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.1))
    for x, y in loader:
        train_step(x, y)
""",
    )
    assert moves_of(loop) == ["backward", "step", "zero"]
    assert loop.is_whole


def test_a_callable_object_that_steps(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch

class Stepper:
    def __init__(self, opt):
        self.opt = opt

    def __call__(self, loss):
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

class Learner:
    def __init__(self, model, loader):
        self.model = model
        self.loader = loader
        self.update = Stepper(torch.optim.Adam(model.parameters()))

    def fit(self, n):
        for epoch in range(n):
            for batch in self.loader:
                self.update(self.model(batch).mean())
""",
    )
    assert moves_of(loop) == ["zero", "backward", "step"]
    assert loop.is_whole


def test_a_scaler_object_that_does_it_all(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch
from timm.utils import NativeScaler

def train_one_epoch(model, loader, optimizer, loss_fn, loss_scaler=None):
    for batch_idx, (x, y) in enumerate(loader):
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        if loss_scaler is not None:
            loss_scaler(loss, optimizer, parameters=model.parameters())
        else:
            loss.backward()
            optimizer.step()

def main(args):
    model = torch.nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = NativeScaler() if args.amp else None
    for epoch in range(args.epochs):
        train_one_epoch(model, loader, optimizer, torch.nn.CrossEntropyLoss(), loss_scaler=scaler)
""",
    )
    assert sorted(len(path.of(Kind.STEP, Kind.SCALER_STEP)) for path in loop.paths) == [1, 1]
    assert all(path.of(Kind.BACKWARD) for path in loop.paths)


def test_micro_batches_in_a_loop_of_their_own(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import contextlib
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(accumulate):
    model = DDP(torch.nn.Linear(3, 3).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = iter(loader)
    for step in range(1000):
        optimizer.zero_grad()
        for micro in range(accumulate):
            with model.no_sync() if micro < accumulate - 1 else contextlib.nullcontext():
                (model(next(batches)).mean() / accumulate).backward()
        optimizer.step()
""",
    )
    assert moves_of(loop) == ["zero", "backward", "step"]
    assert loop.micro is not None
    assert level(loop.run, loop.body) == "step"  # type: ignore[arg-type]


def test_what_a_loop_counts_is_not_known_in_it(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch

model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0
while step < 100:
    model(batch).mean().backward()
    if step % 10 == 0:
        optimizer.step()
        optimizer.zero_grad()
    step += 1
""",
    )
    assert sorted(len(path.of(Kind.STEP)) for path in loop.paths) == [0, 1]


def test_a_closure_runs_before_the_weights_change(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch

def fit(model, optimizer, after=lambda: None):
    for x in loader:
        def closure():
            optimizer.zero_grad()
            loss = model(x).mean()
            loss.backward()
            return loss
        after()
        optimizer.step(closure)

def main():
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.LBFGS(model.parameters())
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    fit(model, optimizer, after=lambda: scheduler.step())
""",
    )
    assert moves_of(loop) == ["schedule", "zero", "backward", "step"]


HOOKS = """
import torch
from torch import nn

HOOKS = {}


def register(cls):
    HOOKS[cls.__name__] = cls
    return cls


@register
class Clip:
    def after_backward(self, runner):
        nn.utils.clip_grad_norm_(runner.model.parameters(), 1.0)

    def after_step(self, runner):
        pass


class Runner:
    def __init__(self, model, optimizer, loader, options):
        self.model, self.optimizer, self.loader, self.hooks = model, optimizer, loader, []
        for name in options["hooks"]:
            self.hooks.append(HOOKS[name]())

    def emit(self, event):
        for hook in self.hooks:
            CALL

    def run(self):
        for x, y in self.loader:
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.model(x), y).backward()
            self.emit("after_backward")
            self.optimizer.step()
            self.emit("after_step")


def main(loader, options):
    model = nn.Linear(4, 4)
    Runner(model, torch.optim.SGD(model.parameters(), 0.1), loader, options).run()
"""


@pytest.mark.parametrize(
    "call",
    [
        "getattr(hook, event)(self)",
        "callback = getattr(hook, event, None)\n            if callback is not None:\n"
        "                callback(self)",
    ],
)
def test_hooks_are_followed_where_they_are_called_by_name(tmp_path: Path, call: str) -> None:
    assert moves_of(the_loop(tmp_path, HOOKS.replace("CALL", call))) == ["zero", "backward", "clip", "step"]


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        ('{"backward": [], "step": []}', "self.handlers[event].append(handler)"),
        ("defaultdict(list)", "self.handlers[event].append(handler)"),
        ("{}", "self.handlers.setdefault(event, []).append(handler)"),
    ],
)
def test_lists_of_functions_are_followed_where_they_are_called(tmp_path: Path, made: str, kept: str) -> None:
    text = """
from collections import defaultdict

import torch
from torch import nn


def clip(trainer):
    nn.utils.clip_grad_norm_(trainer.model.parameters(), 1.0)


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.handlers = MADE

    def on(self, event, handler):
        KEPT

    def emit(self, event):
        for handler in self.handlers.get(event, ()):
            handler(self)

    def fit(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.model(x), y).backward()
            self.emit("backward")
            self.optimizer.step()
            self.emit("step")


def main(loader):
    model = nn.Linear(4, 4)
    trainer = Trainer(model, torch.optim.SGD(model.parameters(), 0.1))
    trainer.on("backward", clip)
    trainer.fit(loader)
"""
    loop = the_loop(tmp_path, text.replace("MADE", made).replace("KEPT", kept))
    assert moves_of(loop) == ["zero", "backward", "clip", "step"]


def test_what_a_base_makes_in_its_constructor_is_known(tmp_path: Path) -> None:
    loop = the_loop(
        tmp_path,
        """
import torch

class Base:
    def __init__(self, net):
        self.net = net
        self.first = torch.optim.SGD(net.parameters(), lr=0.1)

class Trainer(Base):
    def __init__(self, net):
        super().__init__(net)
        self.second = torch.optim.SGD(net.parameters(), lr=0.1)

    def fit(self, loader):
        for x in loader:
            self.first.zero_grad()
            self.net(x).mean().backward()
            self.first.step()

Trainer(torch.nn.Linear(8, 1)).fit(batches)
""",
    )
    (step,) = loop.of(Kind.STEP)
    assert isinstance(step.subject, Applied)
    assert step.subject.callee == "torch.optim.SGD"


def test_a_constructor_that_takes_all_day_does_not_hide_the_loop(tmp_path: Path) -> None:
    setup = "\n".join(f"        self.part_{n} = [other(i, {n}) for i in (1, 2)] + [{n}]" for n in range(3000))
    loop = the_loop(
        tmp_path,
        f"""
def other(i, n):
    return (i + n, i * n)

class Trainer:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer
{setup}

    def fit(self, loader):
        for x in loader:
            self.optimizer.zero_grad()
            self.net(x).mean().backward()
            self.optimizer.step()
""",
    )
    assert moves_of(loop) == ["zero", "backward", "step"]
    assert not loop.trace.complete
