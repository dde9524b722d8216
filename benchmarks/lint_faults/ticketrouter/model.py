import torch
from torch import nn
from transformers import BertConfig, BertModel

from tickets import DESKS, TAGS, VOCAB


class TicketModel(nn.Module):
    def __init__(self, hidden, layers, dropout):
        super().__init__()
        config = BertConfig(
            vocab_size=len(VOCAB) + 1,
            hidden_size=hidden,
            num_hidden_layers=layers,
            num_attention_heads=4,
            intermediate_size=2 * hidden,
            max_position_embeddings=64,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
        self.encoder = BertModel(config, add_pooling_layer=False)
        self.dropout = nn.Dropout(dropout)
        self.tag_head = nn.Linear(hidden, len(TAGS))
        self.route_head = nn.Linear(hidden, len(DESKS))

    def forward(self, input_ids, attention_mask):
        h = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        h = self.dropout(h)
        keep = attention_mask.unsqueeze(-1)
        # the routing scores are calibrated afterwards, so they are kept in full precision
        with torch.autocast(h.device.type, enabled=False):
            pooled = (h.float() * keep).sum(1) / keep.sum(1)
            route_logits = self.route_head(pooled)
        return {"route_logits": route_logits, "tag_logits": self.tag_head(h)}
