"""Train the network of net.py until a step is not finite, and write its black box beside this file.

python examples/overflow/record.py
"""

from pathlib import Path

import torch
from net import build

from stethoscope.guard.boxes import black_box
from stethoscope.guard.culprit.culprit import bad_gradients, find_among
from stethoscope.guard.culprit.recall import Recall

torch.manual_seed(0)
model, loss, optimizer = build()  # the learning rate is far too high, so that the values grow fast
recall = Recall(model)
for step in range(100):
    inputs = torch.randn(8, 8)
    recall.step, recall.batch = step, (inputs, inputs.sum(1, keepdim=True))
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        value = loss(model(inputs), recall.batch)
    value.backward()
    if not torch.isfinite(value):
        call, culprit = find_among(model, recall.calls(step))
        written = black_box.write(
            Path(__file__).parent,
            step,
            model=model,
            optimizers=[optimizer],
            call=call,
            culprit=culprit,
            gradients=bad_gradients(model.named_parameters()),
        )
        print(f"{written.name}: {culprit.text()}")
        break
    optimizer.step()
