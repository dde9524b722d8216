"""How many samples a device takes at once.

    batch_size: 16      per_device_train_batch_size      train_micro_batch_size_per_gpu      samples_per_gpu
    datasets.train.batch_size_per_gpu      micro_batch_size      bs

`part` is "device" where the name says so; a plain `batch_size` may be that of all devices together.
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("batch per device", 20)

_PLAIN = re.compile(r"(?:train_|training_)?(?:batch_size|batchsize|bs|batch|b_size|mb_size)(?:_train)?")
_PER_DEVICE = re.compile(
    r"(?:per_(?:device|gpu)_(?:train_)?batch_size|(?:train_)?batch_size_per_(?:gpu|device|rank|card|process)"
    r"|(?:train_)?micro_?batch_?size(?:_per_gpu)?|(?:samples|imgs|images|videos)_per_gpu|device_batch_size"
    r"|local_batch_size|batch_gpu|(?:device_)?(?:train_)?microbatch_size|batch_size_train_per_gpu)"
)
_ALL_DEVICES = frozenset({"deepspeed"})


def read(spelling: Spelling) -> Amount | None:
    """A whole positive number under a name for the batch."""
    number = spelling.number
    if number is None or number < 1 or number != int(number) or not spelling.is_for_training:
        return None
    if _PER_DEVICE.fullmatch(spelling.leaf):
        return Amount(int(number), part="device")
    is_plain = _PLAIN.fullmatch(spelling.leaf) and not spelling.around & _ALL_DEVICES
    return Amount(int(number)) if is_plain else None
