# %% [markdown]
# # Product photos and titles
# One network for search (photo <-> title), categories, attributes, prices and suggested titles.

# %%
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

CONFIG = {
    "seed": 7,
    "n": {"train": 96, "val": 32, "test": 32},
    "photo": 24,
    "batch_size": 16,
    "epochs": 4,
    "lr": 3e-3,
    "margin": 0.2,
    "weights": {"match": 1.0, "category": 0.5, "attributes": 0.5, "price": 0.3, "title": 0.2},
}
PAD, BOS, VOCAB = 0, 1, 40
CATEGORIES, ATTRIBUTES = 4, 3
torch.manual_seed(CONFIG["seed"])
device = "cuda" if torch.cuda.is_available() else "cpu"


# %% The catalogue. A third of the photos was scanned in grey.
def make_product(rng, size):
    category = int(rng.integers(CATEGORIES))
    attributes = rng.random(ATTRIBUTES) < 0.4
    photo = rng.integers(0, 60, (size, size, 3))
    photo[:, category * 6:category * 6 + 6] += 120
    for k in np.flatnonzero(attributes):
        photo[k * 8:k * 8 + 4] += 60
    if rng.random() < 0.33:
        photo = photo.mean(-1)
    title = [BOS, 2 + category, *(8 + np.flatnonzero(attributes)), *rng.integers(12, VOCAB, int(rng.integers(2, 7)))]
    price = float(np.exp(1 + 0.7 * category + attributes.sum() * 0.3 + 0.1 * rng.standard_normal()))
    return dict(photo=photo.clip(0, 255).astype(np.uint8), title=title, category=category,
                attributes=attributes, price=price)


def catalogue(split):
    rng = np.random.default_rng({"train": 1, "val": 2, "test": 3}[split])
    rows = [make_product(rng, CONFIG["photo"]) for _ in range(CONFIG["n"][split])]
    return sorted(rows, key=lambda r: r["category"])


# %% Transforms, from uint8 arrays to normalised tensors
MEAN, STD = (0.24, 0.24, 0.24), (0.22, 0.22, 0.22)


class Pipeline:
    def __init__(self, *stages):
        self.stages = stages

    def __call__(self, x):
        for stage in self.stages:
            x = stage(x)
        return x


def to_float(photo):
    return photo.astype(np.float32) / 255


def three_channels(photo):
    if photo.ndim == 3:
        return photo
    return np.repeat(photo[..., None], 3, axis=-1)


def random_light(photo):
    return photo * np.float32(0.9 + 0.2 * torch.rand(()).item())


def to_tensor(photo):
    return torch.from_numpy(np.ascontiguousarray(photo.transpose(2, 0, 1)))


class Normalise:
    def __init__(self, mean, std):
        self.mean, self.std = torch.tensor(mean).view(3, 1, 1), torch.tensor(std).view(3, 1, 1)

    def __call__(self, x):
        return (x - self.mean) / self.std


train_transform = Pipeline(to_float, three_channels, random_light, to_tensor, Normalise(MEAN, STD))
plain_transform = Pipeline(to_float, three_channels, to_tensor, Normalise(MEAN, STD))


# %%
class Products(Dataset):
    def __init__(self, rows, transform):
        self.rows, self.transform = rows, transform

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {**self.rows[i], "photo": self.transform(self.rows[i]["photo"])}


def collate(rows):
    longest = max(len(r["title"]) for r in rows)
    title = torch.full((len(rows), longest), PAD)
    for k, r in enumerate(rows):
        title[k, :len(r["title"])] = torch.tensor([int(w) for w in r["title"]])
    return {
        "photo": torch.stack([r["photo"] for r in rows]),
        "title": title,
        "category": torch.tensor([r["category"] for r in rows]),
        "attributes": torch.tensor(np.stack([r["attributes"] for r in rows])).float(),
        "price": torch.tensor([r["price"] for r in rows]),
    }


def loader_for(split):
    training = split == "train"
    data = Products(catalogue(split), train_transform if training else plain_transform)
    return DataLoader(data, CONFIG["batch_size"], shuffle=training, drop_last=training, collate_fn=collate)


train_loader, val_loader, test_loader = map(loader_for, ("train", "val", "test"))


# %% Network
class Matcher(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.photo_tower = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 16, dim),
        )
        self.words = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.title_tower = nn.Linear(dim, dim)
        self.category_head = nn.Linear(dim, CATEGORIES)
        self.attribute_head = nn.Linear(dim, ATTRIBUTES)
        self.price_head = nn.Linear(dim, 1)
        self.writer = nn.GRU(dim, dim, batch_first=True)
        self.writer_head = nn.Linear(dim, VOCAB)

    def photo(self, x):
        return self.photo_tower(x)

    def title(self, ids):
        mask = (ids != PAD).unsqueeze(-1)
        return self.title_tower((self.words(ids) * mask).sum(1) / mask.sum(1))

    def category_probs(self, z):
        return self.category_head(z).softmax(-1)

    def attribute_probs(self, z):
        return self.attribute_head(z).sigmoid()

    def log_price(self, z):
        return self.price_head(z).squeeze(-1)

    def write(self, z, ids):
        return self.writer_head(self.writer(self.words(ids), z.unsqueeze(0).contiguous())[0])


# %% Losses. Each takes the network, the two embeddings and the batch.
def cosine_table(z, t):
    return F.normalize(z, dim=-1) @ F.normalize(t, dim=-1).T


class MatchLoss(nn.Module):
    """Triplets with the hardest title of the batch."""

    def forward(self, model, z, t, batch):
        table = cosine_table(z, t)
        positive = table.diagonal()
        own = torch.eye(len(table), dtype=torch.bool, device=table.device)
        negative = table.masked_fill(own, -1.0).amax(1)
        return F.relu(CONFIG["margin"] + negative - positive).mean()


class CategoryLoss(nn.Module):
    def forward(self, model, z, t, batch):
        return F.cross_entropy(model.category_head(z), batch["category"], label_smoothing=0.05)


class AttributeLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.bce = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.5] * ATTRIBUTES))

    def forward(self, model, z, t, batch):
        return self.bce(model.attribute_head(z), batch["attributes"])


class PriceLoss(nn.Module):
    def forward(self, model, z, t, batch):
        return F.smooth_l1_loss(model.log_price(z), batch["price"].log())


class TitleLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.ce = nn.CrossEntropyLoss(ignore_index=PAD)

    def forward(self, model, z, t, batch):
        logits = model.write(z, batch["title"][:, :-1])
        return self.ce(logits.flatten(0, 1), batch["title"][:, 1:].flatten())


class LossBag(nn.Module):
    def __init__(self, weights, **losses):
        super().__init__()
        self.weights, self.losses = weights, nn.ModuleDict(losses)

    def forward(self, model, batch):
        z, t = model.photo(batch["photo"]), model.title(batch["title"])
        total = torch.zeros((), device=z.device)
        for name, loss in self.losses.items():
            value = loss(model, z, t, batch)
            total = total + self.weights[name] * value
        return total


# %% What the shop looks at
def to_device(batch):
    return {k: v.to(device) for k, v in batch.items()}


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    z, t, right, price_error = [], [], [], []
    for batch in map(to_device, loader):
        z.append(model.photo(batch["photo"]))
        t.append(model.title(batch["title"]))
        right.append(model.category_probs(z[-1]).argmax(-1) == batch["category"])
        price_error.append((model.log_price(z[-1]).exp() - batch["price"]).abs() / batch["price"])
    table = cosine_table(torch.cat(z), torch.cat(t))
    hits = table.topk(5).indices == torch.arange(len(table), device=table.device)[:, None]
    return {"recall@5": hits.any(1).float().mean().item(), "category": torch.cat(right).float().mean().item(),
            "price error": torch.cat(price_error).mean().item()}


# %% Training
model = Matcher().to(device)
criterion = LossBag(CONFIG["weights"], match=MatchLoss(), category=CategoryLoss(), attributes=AttributeLoss(),
                    price=PriceLoss(), title=TitleLoss()).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=CONFIG["lr"])
best_score, best_state = float("-inf"), None

for epoch in range(CONFIG["epochs"]):
    model.train()
    running = torch.zeros((), device=device)
    for batch in map(to_device, train_loader):
        optimizer.zero_grad()
        loss = criterion(model, batch)
        loss.backward()
        optimizer.step()
        running += loss.detach()
    epoch_loss = running.item() / len(train_loader)
    scores = evaluate(model, val_loader)
    print(epoch, f"{epoch_loss:.4f}", {k: round(v, 3) for k, v in scores.items()})
    score = scores["recall@5"] + scores["category"] - 0.1 * scores["price error"]
    if score > best_score:
        best_score, best_state = score, copy.deepcopy(model.state_dict())

# %% Test with the best epoch
model.load_state_dict(best_state)
print("test", evaluate(model, test_loader))
with torch.no_grad():
    sample = to_device(next(iter(test_loader)))
    print("attributes", model.attribute_probs(model.photo(sample["photo"]))[:2].tolist())
torch.save(best_state, "shop_match.pt")
