"""Particles and quantum states."""

import numpy as np

from .catalogue import program
from .shared import f32


def cubic_lattice(rng):
    lattice = np.stack(np.meshgrid(*[np.arange(8)] * 3, indexing="ij"), -1).reshape(-1, 3) * 1.2
    x = (lattice + 0.05 * rng.normal(size=lattice.shape)).astype(f32)
    return x, rng.normals(*lattice.shape, scale=0.5)


def chain_molecule(rng):
    """Places, topology and molecules of a chain of 600."""
    n = 600
    run = lambda k: np.stack([np.arange(n - k + 1) + i for i in range(k)], 1).astype(np.int32)
    x = np.cumsum(rng.normal(size=(n, 3)) * 0.3 + [0.5, 0, 0], 0).astype(f32)
    return x, {"b": run(2), "a": run(3), "d": run(4)}, rng.ints(12, n)


@program(lambda rng: (
    rng.normals(400, 3), rng.normals(400, 3, scale=0.1), rng.uniforms(400, lo=.5, hi=1.5),
), seed=21)
def nbody_leapfrog_grad(lib, x, v, m):
    """Gravity among 400 bodies, forces by differentiation."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def pot(x):
        d = x[:, None] - x[None]
        r2 = jnp.sum(d ** 2, -1) + 0.05 ** 2
        iu = jnp.triu(jnp.ones((x.shape[0], x.shape[0]), bool), 1)
        return -jnp.sum(jnp.where(iu, m[:, None] * m / jnp.sqrt(r2), 0)) / x.shape[0]

    F = lambda x: -jax.grad(pot)(x) / m[:, None]

    def step(s, _):
        x, v, a = s
        v = v + 0.005 * a
        x = x + 0.01 * v
        a = F(x)
        v = v + 0.005 * a
        return (x, v, a), 0.5 * jnp.sum(m[:, None] * v ** 2)
    (x, v, _), K = lax.scan(step, (x, v, F(x)), None, length=5)
    return x, v, K, pot(x)


@program(cubic_lattice, seed=2101)
def lj_neighbour_list_md(lib, x, v):
    """Molecules with lists of neighbours in a periodic box."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n, L, rc, M = x.shape[0], 9.6, 2.5, 80

    def neigh(x):
        d = x[:, None] - x[None]
        d = d - L * jnp.round(d / L)
        r2 = jnp.sum(d * d, -1) + jnp.where(jnp.eye(n, dtype=bool), jnp.inf, 0)
        _, idx = lax.top_k(-r2, M)
        return idx

    def energy(x, nb):
        d = x[:, None] - x[nb]
        d = d - L * jnp.round(d / L)
        r2 = jnp.sum(d * d, -1)
        ok = r2 < rc * rc
        s6 = jnp.where(ok, 1 / jnp.where(ok, r2, 1.0) ** 3, 0)
        return 0.5 * jnp.sum(4 * (s6 * s6 - s6) + jnp.where(ok, 0.0163, 0.0))

    nb = neigh(x)

    def step(s, _):
        x, v, f = s
        v = v + 0.001 * f
        x = jnp.mod(x + 0.002 * v, L)
        f = -jax.grad(energy)(x, nb)
        v = v + 0.001 * f
        return (x, v, f), (energy(x, nb), 0.5 * jnp.sum(v * v))
    (x, v, _), (pe, ke) = lax.scan(step, (x, v, -jax.grad(energy)(x, nb)), None, length=10)
    return x, v, pe, ke


@program(lambda rng: (rng.uniforms(4000, 2, hi=10), rng.normals(4000, 2)), seed=2102)
def sph_cell_list(lib, x, v):
    """Density and forces of a fluid of particles in cells."""
    jnp = lib.jnp
    h, nc, cap = 0.25, 40, 16
    cell = jnp.clip((x / h).astype(jnp.int32), 0, nc - 1)
    cid = cell[:, 0] * nc + cell[:, 1]
    order = jnp.argsort(cid)
    xs, vs, cs = x[order], v[order], cid[order]
    start = jnp.searchsorted(cs, jnp.arange(nc * nc))
    slot = jnp.arange(x.shape[0]) - start[cs]
    table = jnp.full((nc * nc, cap), -1, jnp.int32).at[cs, slot].set(
        jnp.arange(x.shape[0], dtype=jnp.int32), mode="drop")
    offs = jnp.array([[a, b] for a in (-1, 0, 1) for b in (-1, 0, 1)])
    c2 = jnp.stack([cs // nc, cs % nc], -1)[:, None] + offs
    okc = jnp.all((c2 >= 0) & (c2 < nc), -1)
    nb = jnp.where(okc[..., None], table[jnp.clip(c2[..., 0] * nc + c2[..., 1], 0, nc * nc - 1)],
                   -1).reshape(x.shape[0], -1)
    ok = nb >= 0
    d = xs[:, None] - xs[nb]
    q = jnp.sqrt(jnp.sum(d * d, -1) + 1e-12) / h
    W = jnp.where(ok & (q < 1), (1 - q) ** 3, 0)
    rho = W.sum(1)
    p = 3.0 * jnp.maximum(rho - 2, 0)
    gW = jnp.where(ok & (q < 1), -3 * (1 - q) ** 2, 0)[..., None] * d / (q[..., None] * h + 1e-6)
    acc = -jnp.sum((p / rho ** 2)[:, None, None] * gW + (p / rho ** 2)[nb][..., None] * gW, 1)
    xsph = jnp.sum(W[..., None] * (vs[nb] - vs[:, None]), 1) / rho[:, None]
    inv = jnp.zeros_like(order).at[order].set(jnp.arange(order.shape[0]))
    return rho[inv], acc[inv], (vs + 0.01 * acc + 0.3 * xsph)[inv]


@program(chain_molecule, seed=2103)
def polymer_langevin(lib, x, top, mol):
    """A chain with bonds, angles and torsions in a heat bath."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def energy(x):
        b = x[top["b"]]
        rb = jnp.linalg.norm(b[:, 1] - b[:, 0], axis=-1)
        a = x[top["a"]]
        u, w = a[:, 0] - a[:, 1], a[:, 2] - a[:, 1]
        cos = jnp.sum(u * w, -1) / (jnp.linalg.norm(u, axis=-1) * jnp.linalg.norm(w, axis=-1))
        th = jnp.arccos(jnp.clip(cos, -0.999, 0.999))
        d = x[top["d"]]
        b1, b2, b3 = d[:, 1] - d[:, 0], d[:, 2] - d[:, 1], d[:, 3] - d[:, 2]
        n1, n2 = jnp.cross(b1, b2), jnp.cross(b2, b3)
        phi = jnp.arctan2(jnp.sum(jnp.cross(n1, n2) * b2, -1) / jnp.linalg.norm(b2, axis=-1),
                          jnp.sum(n1 * n2, -1))
        return (50 * jnp.sum((rb - 0.6) ** 2) + 5 * jnp.sum((th - 2.0) ** 2)
                + jnp.sum(1 + jnp.cos(3 * phi - 0.5)))

    def step(s, k):
        x, v = s
        f = -jax.grad(energy)(x)
        v = 0.98 * (v + 0.001 * f) + 0.02 * jax.random.normal(k, x.shape)
        return (x + 0.002 * v, v), energy(x)
    (x, v), E = lax.scan(step, (x, jnp.zeros_like(x)), jax.random.split(jax.random.PRNGKey(3), 30))
    com = (jax.ops.segment_sum(x, mol, 12)
           / jax.ops.segment_sum(jnp.ones(x.shape[0]), mol, 12)[:, None])
    rg = jnp.sqrt(jax.ops.segment_sum(jnp.sum((x - com[mol]) ** 2, -1), mol, 12))
    return x, E, com, rg, jax.ops.segment_max(x[:, 0], mol, 12)


@program(lambda rng: (rng.uniforms(300, 2, hi=20), rng.normals(300, 2)), seed=2104)
def boids(lib, x, v):
    """A flock that keeps together and apart."""
    jnp, lax = lib.jnp, lib.lax

    def step(s, _):
        x, v = s
        d = x[None] - x[:, None]
        d = d - 20 * jnp.round(d / 20)
        dist = jnp.linalg.norm(d + 1e-9, axis=-1)
        nb = (dist < 3) & (dist > 1e-6)
        cnt = jnp.maximum(nb.sum(1, keepdims=True), 1)
        coh = jnp.sum(jnp.where(nb[..., None], d, 0), 1) / cnt
        ali = (nb.astype(jnp.float32) @ v) / cnt - v
        sep = -jnp.sum(
            jnp.where((nb & (dist < 1))[..., None], d / (dist[..., None] ** 2 + 1e-2), 0), 1)
        v = v + 0.01 * coh + 0.05 * ali + 0.05 * sep
        sp = jnp.linalg.norm(v, axis=-1, keepdims=True)
        v = v * jnp.clip(sp, 0.5, 2) / sp
        return (jnp.mod(x + 0.1 * v, 20.0), v), jnp.linalg.norm(jnp.mean(v / sp, 0))
    return lax.scan(step, (x, v), None, length=8)


@program(lambda rng: (rng.uniforms(20000, 3), rng.uniforms(20000)), seed=2105)
def morton_octree_moments(lib, x, m):
    """Masses and centres of the cells of an octree."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    g = jnp.clip((x * 1024).astype(jnp.uint32), 0, 1023)

    def spread(v):
        v = (v | (v << 16)) & jnp.uint32(0x030000FF)
        v = (v | (v << 8)) & jnp.uint32(0x0300F00F)
        v = (v | (v << 4)) & jnp.uint32(0x030C30C3)
        return (v | (v << 2)) & jnp.uint32(0x09249249)
    code = spread(g[:, 0]) | (spread(g[:, 1]) << 1) | (spread(g[:, 2]) << 2)
    order = jnp.argsort(code)
    code, x, m = code[order], x[order], m[order]
    out = []
    for level in (2, 3, 4):
        seg = (code >> jnp.uint32(30 - 3 * level)).astype(jnp.int32)
        M = jax.ops.segment_sum(m, seg, 8 ** level, indices_are_sorted=True)
        C = (jax.ops.segment_sum(m[:, None] * x, seg, 8 ** level, indices_are_sorted=True)
             / jnp.maximum(M, 1e-9)[:, None])
        out.append((M, C))
    lcp = lax.clz(code[1:] ^ code[:-1])
    return out, lcp, code


@program(lambda rng: (rng.uniforms(4, 12, 3, hi=6.28),), seed=4015)
def quantum_circuit_vqe(lib, params):
    """The energy of a circuit of twelve qubits and its gradient."""
    jax, jnp = lib.jax, lib.jnp
    n = 12

    def u3(t):
        th, ph, la = t
        c, s = jnp.cos(th / 2), jnp.sin(th / 2)
        return jnp.array(
            [[c + 0j, -jnp.exp(1j * la) * s], [jnp.exp(1j * ph) * s, jnp.exp(1j * (ph + la)) * c]])

    def apply1(psi, U, q):
        return jnp.moveaxis(jnp.tensordot(U, psi, ((1,), (q,))), 0, q)
    CZ = jnp.array(np.diag([1, 1, 1, -1]).reshape(2, 2, 2, 2), jnp.complex64)

    def circuit(params):
        psi = jnp.zeros((2,) * n, jnp.complex64).at[(0,) * n].set(1)
        for layer in range(params.shape[0]):
            for q in range(n):
                psi = apply1(psi, u3(params[layer, q]), q)
            for q in range(layer % 2, n - 1, 2):
                psi = jnp.moveaxis(jnp.tensordot(CZ, psi, ((2, 3), (q, q + 1))), (0, 1), (q, q + 1))
        return psi

    def energy(params):
        psi = circuit(params)
        p = jnp.abs(psi) ** 2
        z = jnp.array([1.0, -1.0])
        e = 0.0
        for q in range(n - 1):
            m = p.sum(tuple(a for a in range(n) if a not in (q, q + 1)))
            e = e - z @ m @ z
        for q in range(n):
            e = e - 0.7 * jnp.vdot(psi, jnp.flip(psi, q)).real
        return e
    e, g = jax.value_and_grad(energy)(params)
    return e, g


@program(lambda rng: (rng.normals(8), f32(0.3)), seed=4016)
def density_matrix_lindblad(lib, h, gamma):
    """Four qubits that lose energy, and their entropy."""
    jnp, lax = lib.jnp, lib.lax
    n = 4
    sx = jnp.array([[0, 1], [1, 0]], jnp.complex64)
    sz = jnp.array([[1, 0], [0, -1]], jnp.complex64)
    sm = jnp.array([[0, 1], [0, 0]], jnp.complex64)

    def site(op, q):
        M = jnp.eye(1, dtype=jnp.complex64)
        for k in range(n):
            M = jnp.kron(M, op if k == q else jnp.eye(2, dtype=jnp.complex64))
        return M
    X, Z, S = ([site(o, q) for q in range(n)] for o in (sx, sz, sm))
    H = sum(h[q] * Z[q] for q in range(n)) + sum(X[q] @ X[q + 1] for q in range(n - 1))
    Ls = jnp.sqrt(gamma) * jnp.stack(S)

    def rhs(rho):
        LdL = jnp.einsum("kji,kjl->kil", Ls.conj(), Ls)
        D = (jnp.einsum("kij,jl,kml->im", Ls, rho, Ls.conj())
             - 0.5 * jnp.einsum("kij,jl->il", LdL, rho) - 0.5 * jnp.einsum("ij,kjl->il", rho, LdL))
        return -1j * (H @ rho - rho @ H) + D

    def rk4(rho, _):
        dt = 0.02
        k1 = rhs(rho)
        k2 = rhs(rho + dt / 2 * k1)
        k3 = rhs(rho + dt / 2 * k2)
        k4 = rhs(rho + dt * k3)
        rho = rho + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return rho, (jnp.trace(rho @ Z[0]).real, jnp.trace(rho @ rho).real)
    rho0 = jnp.zeros((16, 16), jnp.complex64).at[0, 0].set(0.5).at[15, 15].set(0.5).at[0, 15].set(
        0.5).at[15, 0].set(0.5)
    rho, obs = lax.scan(rk4, rho0, None, length=60)
    red = jnp.trace(rho.reshape(4, 4, 4, 4), axis1=1, axis2=3)
    ev = jnp.linalg.eigvalsh(red)
    return rho, obs, -jnp.sum(jnp.where(ev > 1e-6, ev * jnp.log(jnp.maximum(ev, 1e-6)), 0))


@program(lambda rng: (rng.normals(10),), seed=4017)
def spin_chain_trotter_entropy(lib, h):
    """Ten spins by alternating gates, and their entanglement."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax
    n = 10
    dt = 0.1
    J = jnp.array([[1, 0, 0, 0], [0, -1, 2, 0], [0, 2, -1, 0], [0, 0, 0, 1]], jnp.complex64)
    w, V = jnp.linalg.eigh(J)
    U = (V * jnp.exp(-1j * dt * w)) @ V.conj().T

    def gate(psi, q):
        x = psi.reshape(2 ** q, 4, 2 ** (n - q - 2))
        return jnp.einsum("ij,ajb->aib", U, x).reshape(-1)
    idx = jnp.arange(2 ** n)
    bits = (idx[:, None] >> jnp.arange(n)[None, ::-1]) & 1
    field = jnp.exp(-1j * dt * ((1 - 2 * bits) @ h))
    neel = jnp.sum((jnp.arange(n) % 2) << jnp.arange(n))
    psi0 = jnp.zeros(2 ** n, jnp.complex64).at[neel].set(1)

    def step(psi, _):
        for q in range(0, n - 1, 2):
            psi = gate(psi, q)
        for q in range(1, n - 1, 2):
            psi = gate(psi, q)
        psi = psi * field
        sv = jnp.linalg.svd(psi.reshape(32, 32), compute_uv=False)
        p = sv ** 2
        S = -jnp.sum(jnp.where(p > 1e-12, p * jnp.log(jnp.maximum(p, 1e-12)), 0))
        return psi, (S, (jnp.abs(psi) ** 2) @ (1.0 - 2 * bits))
    psi, (S, mz) = lax.scan(step, psi0, None, length=20)
    counts = jax.random.categorical(jax.random.PRNGKey(0), jnp.log(jnp.abs(psi) ** 2 + 1e-20),
                                    shape=(500,))
    return jnp.abs(psi) ** 2, S, mz, jnp.bincount(counts >> 5, length=32).sum()
