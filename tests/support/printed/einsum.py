import torch

a, b = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
q = torch.randn(2, 3, 2, 4)
print(
    torch.einsum("bij,bjk->bik", a, b),
    torch.einsum("ii", torch.eye(3)),
    torch.einsum("i,j->ij", torch.arange(2.0), torch.arange(3.0)),
    torch.einsum("bqhd,bkhd->bhqk", [q, q]).shape,
    torch.einsum("...ij->...ji", a).shape,
    torch.einsum("bn,anm,bm->ba", torch.randn(2, 5), torch.randn(3, 5, 4), torch.randn(2, 4)),
    torch.einsum("ij->", torch.ones(2, 2)),
    torch.einsum("ij->i", torch.ones(2, 2)),
)
x = torch.randn(3, 3, requires_grad=True)
torch.einsum("ij,kj->ik", x, x).trace().backward()
print(x.grad - 2 * x)
print(
    torch.bmm(a, b).sum(),
    torch.baddbmm(torch.zeros(2, 3, 5), a, b).mean(),
    torch.addmm(torch.ones(2, 2), torch.ones(2, 3), torch.ones(3, 2), beta=2, alpha=0.5),
    torch.outer(torch.ones(2), torch.ones(3)),
    torch.tensordot(a, b, dims=([2], [1])).shape,
    torch.kron(torch.eye(2), torch.ones(1, 2)),
    torch.linalg.norm(a),
    torch.linalg.inv(torch.eye(2) * 2),
    torch.linalg.det(torch.eye(2) * 3),
    torch.cdist(torch.zeros(1, 2), torch.ones(2, 2)),
    torch.cross(torch.tensor([1.0, 0, 0]), torch.tensor([0.0, 1, 0]), dim=0),
    torch.linalg.solve(torch.eye(2) * 2, torch.ones(2)),
    torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 2), torch.ones(2, 1)]),
    torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 2)),
    torch.trace(torch.eye(3)),
    torch.linalg.matrix_power(torch.eye(2) * 2, 3),
    torch.linalg.cholesky(torch.eye(2) * 4),
    torch.linalg.eigvalsh(torch.eye(2) * 3),
    torch.mv(torch.eye(2), torch.ones(2)),
    torch.linalg.slogdet(torch.eye(2) * 3),
    torch.linalg.matrix_rank(torch.eye(3)),
    torch.linalg.svdvals(torch.eye(2)),
)
