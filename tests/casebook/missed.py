"""The cases that are not answered rightly, and why: what such evidence does not tell, or no rule looks at."""

from __future__ import annotations

MISSED = {
    "init-bloom104": (
        "the curve is that of any divergence, and what Megatron prints is not compared with its width"
    ),
    "init-glm-embed": "the gradient of the embedding was not logged apart from the others",
    "init-marin32b": "most spikes recover, and no sizes from inside the attention were logged",
    "ga-swift-10084": "a small bias of the last window, by code that is in use everywhere without harm",
    "data-nnunet-1480": "a class without a score may be one that the held-out data does not have",
    "ns-kohya-673": "the weight at the last time step is inside the trainer, and the curve shows nothing",
    "ns-sd3-9056": "how often a time step is drawn is not compared with how often it is asked for",
    "amp-torch-120376": "a backward pass inside of autocast is allowed, and no second run is there",
    "lr-opt175-27": "the norms drift slowly, and the collapse of the scale at the end outweighs it",
    "lr-opt175-betas": "every resume loads the optimizer's constants; that they differ shows in a second run",
    "res-idefics-ratio": "the bumps are no higher than the noise of the loss",
    "amp-fairseq-512": "a scale at its floor is taken for an overflow, though validation had left before",
    "fw-mps-addcmul": "one layer that stays at its start looks like a loss that settles a little high",
    "dist-torch-85671": "no gradient or copy of the other rank was logged, and the curve is a healthy one",
}
