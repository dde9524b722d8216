"""How many samples the training set holds, where the settings say so.

num_train_samples: 50000      train_sequences      dataset_size      datasets.train.num_images
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("training samples", 6)

_OF_TRAINING = re.compile(
    r"(?:num_|n_)?train(?:ing)?_(?:samples|sequences|images|examples|size|set_size|data_size|items|pairs)"
)
_OF_ANY = re.compile(r"(?:num|n)_(?:samples|images|sequences|examples|pairs)|dataset_size")


def read(spelling: Spelling) -> Amount | None:
    """A whole number of samples of the training set."""
    number = spelling.number
    if number is None or number < 1 or number != int(number) or not spelling.is_for_training:
        return None
    of_data = {"data", "dataset", "datasets"} & spelling.around
    of_training = of_data and {"train", "training"} & spelling.around
    if _OF_TRAINING.fullmatch(spelling.leaf) or (of_training and _OF_ANY.fullmatch(spelling.leaf)):
        return Amount(int(number), "sample")
    return None
