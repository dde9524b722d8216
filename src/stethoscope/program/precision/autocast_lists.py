"""The operations that autocast on CUDA treats in ways of their own, as listed in torch 2.13.0.

Written by scripts/write_autocast_lists.py from the header of torch; not by hand.
"""

from __future__ import annotations

TORCH = "2.13.0"

# These run in the half precision of the region, whatever they get.
# fmt: off
LOWER = frozenset({
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "chain_matmul", "conv1d", "conv2d", "conv3d",
    "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution", "einsum",
    "gru_cell", "linalg_multi_dot", "linalg_vecdot", "linear", "lstm_cell", "matmul", "mm", "mv", "prelu",
    "rnn_relu_cell", "rnn_tanh_cell", "scaled_dot_product_attention",
})
# fmt: on

# These run in float32, whatever they get.
# fmt: off
SINGLE = frozenset({
    "acos", "asin", "binary_cross_entropy_with_logits", "cdist", "cosh", "cosine_embedding_loss",
    "cosine_similarity", "cumprod", "cumsum", "dist", "erfinv", "exp", "expm1", "frobenius_norm",
    "group_norm", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "layer_norm",
    "linalg_matrix_norm", "linalg_vector_norm", "log", "log10", "log1p", "log2", "log_softmax", "logsumexp",
    "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "native_layer_norm",
    "nll_loss", "nll_loss2d", "norm", "nuclear_norm", "pdist", "poisson_nll_loss", "pow", "prod",
    "reciprocal", "renorm", "rms_norm", "rsqrt", "sinh", "smooth_l1_loss", "soft_margin_loss", "softmax",
    "softplus", "sum", "tan", "triplet_margin_loss", "upsample_bicubic2d", "upsample_bilinear2d",
    "upsample_linear1d", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
    "upsample_trilinear3d",
})
# fmt: on

# These run in the widest type among their inputs.
# fmt: off
WIDEST = frozenset({
    "addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sampler", "index_put", "scatter_add",
    "tensordot", "vdot",
})
# fmt: on
