import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(1)
text = "When forty winters shall besiege thy brow And dig deep trenches in thy beauty field".split()
ngrams = [([text[i - j - 1] for j in range(2)], text[i]) for i in range(2, len(text))]
vocab = sorted(set(text))
w2i = {w: i for i, w in enumerate(vocab)}


class NG(nn.Module):
    def __init__(self, v, d, c):
        super().__init__()
        self.embeddings = nn.Embedding(v, d)
        self.linear1 = nn.Linear(c * d, 16)
        self.linear2 = nn.Linear(16, v)

    def forward(self, i):
        return F.log_softmax(self.linear2(F.relu(self.linear1(self.embeddings(i).view((1, -1))))), dim=1)


m = NG(len(vocab), 5, 2)
o = optim.SGD(m.parameters(), lr=0.01)
losses = []
for e in range(3):
    t = 0
    for c, w in ngrams:
        m.zero_grad()
        l = nn.NLLLoss()(
            m(torch.tensor([w2i[x] for x in c], dtype=torch.long)), torch.tensor([w2i[w]], dtype=torch.long)
        )
        l.backward()
        o.step()
        t += l.item()
    losses.append(t)
print(losses)
print(m.embeddings.weight[w2i["thy"]])
lstm = nn.LSTM(3, 3)
inputs = [torch.randn(1, 3) for _ in range(5)]
hidden = (torch.randn(1, 1, 3), torch.randn(1, 1, 3))
for i in inputs:
    out, hidden = lstm(i.view(1, 1, -1), hidden)
out, hidden = lstm(torch.cat(inputs).view(len(inputs), 1, -1), (torch.zeros(1, 1, 3), torch.zeros(1, 1, 3)))
print(out, hidden)
emb = nn.EmbeddingBag(10, 3, mode="mean")
print(
    emb(torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2])),
    F.embedding(torch.tensor([1]), emb.weight),
    nn.Embedding.from_pretrained(torch.eye(3))(torch.tensor([2])),
    nn.Embedding(4, 2, max_norm=1.0)(torch.tensor([1, 2])),
)
print(
    F.cosine_similarity(torch.randn(2, 4), torch.randn(2, 4)),
    nn.CosineSimilarity(dim=0)(torch.ones(3), torch.ones(3)),
    nn.PairwiseDistance()(torch.ones(2, 3), torch.zeros(2, 3)),
    F.normalize(torch.ones(2, 2)),
)
