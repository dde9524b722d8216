import torch
from torch import nn
from transformers import BertConfig, BertModel

from .data import PAD, TAGS, VOCAB


class PairScorer(nn.Module):
    """Biaffine score that two words belong to the same field."""

    def __init__(self, hidden, inner):
        super().__init__()
        self.left = nn.Linear(hidden, inner)
        self.right = nn.Linear(hidden, inner)
        self.bilinear = nn.Parameter(torch.randn(inner, inner) * inner**-0.5)

    def forward(self, h):
        a, b = self.left(h), self.right(h)
        with torch.autocast(h.device.type, enabled=False):
            a, b = a.float(), b.float()
            return torch.einsum("bid,de,bje->bij", a, self.bilinear, b)


class FieldTagger(nn.Module):
    def __init__(self, hidden=32, layers=2, heads=2, inner=16, dropout=0.1):
        super().__init__()
        self.encoder = BertModel(
            BertConfig(
                vocab_size=VOCAB, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                intermediate_size=2 * hidden, max_position_embeddings=64, pad_token_id=PAD,
                hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout,
            ),
            add_pooling_layer=False,
        )
        self.config = self.encoder.config
        self.config.keys_to_ignore_at_inference = ["pair_scores"]
        self.drop = nn.Dropout(dropout)
        self.tag_head = nn.Linear(hidden, len(TAGS))
        self.pairs = PairScorer(hidden, inner)

    def forward(self, input_ids, attention_mask):
        h = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        h = self.drop(h)
        return {"logits": self.tag_head(h), "pair_scores": self.pairs(h)}
