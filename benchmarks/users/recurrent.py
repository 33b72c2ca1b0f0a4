"""Recurrent networks, state spaces, losses over alignments."""

import numpy as np

from .catalogue import program
from .shared import (
    clip_by_global_norm,
    cross_entropy,
    f32,
    layer_norm,
    mlp,
    mlp_params,
    norm_params,
    ones,
    zeros,
)


def gru_params(rng, inputs, width):
    return {
        "xzr": rng.weights(inputs, 2 * width), "hzr": rng.weights(width, 2 * width),
        "xn": rng.weights(inputs, width), "hn": rng.weights(width, width),
    }  # fmt: skip


def gru_cell(lib, p, h, x):
    jnp, nn = lib.jnp, lib.nn
    zr = nn.sigmoid(x @ p["xzr"] + h @ p["hzr"])
    zt, rt = jnp.split(zr, 2, -1)
    n = jnp.tanh(x @ p["xn"] + rt * (h @ p["hn"]))
    return (1 - zt) * n + zt * h


@program(lambda rng: (
    {"wx": rng.weights(32, 256), "wh": rng.weights(64, 256), "b": zeros(256),
     "o": rng.weights(64, 10)},
    rng.normals(16, 50, 32), rng.ints(10, 16),
), seed=20)
def lstm_scan_train(lib, p, x, y):
    """The loss and clipped gradient of a long short-term memory."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def cell(c, xt):
        h, c = c
        i, f, g, o_ = jnp.split(xt @ p_["wx"] + h @ p_["wh"] + p_["b"], 4, -1)
        c = nn.sigmoid(f + 1) * c + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o_) * jnp.tanh(c)
        return (h, c), h

    def f(p):
        nonlocal p_
        p_ = p
        h0 = jnp.zeros((x.shape[0], 64))
        (h, _), hs = lax.scan(cell, (h0, h0), jnp.swapaxes(x, 0, 1))
        return cross_entropy(lib, h @ p["o"], y) + 1e-3 * jnp.mean(hs ** 2)
    p_ = p
    l, g = jax.value_and_grad(f)(p)
    return l, clip_by_global_norm(lib, g, 5.0)


@program(lambda rng: (
    {"f": gru_params(rng, 24, 48), "b": gru_params(rng, 24, 48), "o": rng.weights(96, 9)},
    rng.normals(8, 40, 24), rng.ints(40, 8, lo=10), rng.ints(9, 8, 40),
), seed=21)
def bidirectional_gru_tagger_masked_grad(lib, p, x, lens, tags):
    """A tagger that reads sentences of several lengths both ways."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn
    xs = x.transpose(1, 0, 2)
    mask = jnp.arange(x.shape[1])[:, None] < lens[None]

    def run(p, rev):
        def step(h, a):
            xt, m = a
            h = jnp.where(m[:, None], gru_cell(lib, p, h, xt), h)
            return h, h
        return lax.scan(step, jnp.zeros((x.shape[0], 48)), (xs, mask), reverse=rev)[1]

    def f(p):
        h = jnp.concatenate([run(p["f"], False), run(p["b"], True)], -1)
        lp = nn.log_softmax(h @ p["o"])
        nll = -jnp.take_along_axis(lp, tags.T[..., None], -1)[..., 0]
        return jnp.sum(nll * mask) / jnp.sum(mask)
    return jax.value_and_grad(f)(p)


@program(lambda rng: (
    {"in": rng.weights(32, 128), "dt": rng.weights(64, 64), "dtb": rng.normals(64),
     "A": np.log(np.tile(np.arange(1, 9, dtype=f32), (64, 1))), "B": rng.weights(64, 8),
     "C": rng.weights(64, 8), "D": ones(64), "conv": rng.normals(4, 64, scale=0.5),
     "out": rng.weights(64, 32)},
    rng.normals(2, 128, 32),
), seed=22)
def mamba_selective_scan_associative_grad(lib, p, x):
    """A state space whose steps depend on the input, by an associative scan."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def f(p, x):
        u, g = jnp.split(x @ p["in"], 2, -1)
        up = jnp.pad(u, ((0, 0), (3, 0), (0, 0)))
        u = nn.silu(sum(up[:, i:i + u.shape[1]] * p["conv"][i] for i in range(4)))
        dt = nn.softplus(u @ p["dt"] + p["dtb"])
        A = -jnp.exp(p["A"])
        Bm, Cm = u @ p["B"], u @ p["C"]
        a = jnp.exp(dt[..., None] * A)
        b = (dt * u)[..., None] * Bm[:, :, None, :]

        def comb(l, r):
            return l[0] * r[0], r[0] * l[1] + r[1]
        _, h = lax.associative_scan(comb, (a, b), axis=1)
        y = jnp.einsum("btdn,btn->btd", h, Cm) + p["D"] * u
        return (y * nn.silu(g)) @ p["out"]
    y, pb = jax.vjp(f, p, x)
    return y, pb(jnp.sin(y))


@program(lambda rng: (
    rng.normals(128, 2, 32), rng.normals(128, 2, 32), rng.normals(32), rng.normals(32),
    rng.normals(2, 32),
), seed=107)
def rwkv_wkv_scan_grad(lib, k, v, w, u, ct):
    """The weighted average of RWKV as a scan that keeps its exponents small."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def f(k, v, w, u):
        def step(c, kv):
            aa, bb, pp = c
            kt, vt = kv
            ww = u + kt
            q = jnp.maximum(pp, ww)
            e1, e2 = jnp.exp(pp - q), jnp.exp(ww - q)
            y = (e1 * aa + e2 * vt) / (e1 * bb + e2)
            ww = pp - jnp.exp(w)
            q = jnp.maximum(ww, kt)
            e1, e2 = jnp.exp(ww - q), jnp.exp(kt - q)
            return (e1 * aa + e2 * vt, e1 * bb + e2, q), y
        zz = jnp.zeros(k.shape[1:])
        return lax.scan(step, (zz, zz, zz - 1e38), (k, v))[1]
    y, pb = jax.vjp(f, k, v, w, u)
    return y, pb(jnp.broadcast_to(ct, y.shape))


@program(lambda rng: (
    rng.normals(32, scale=.1) * 0 + .5, rng.uniforms(32, hi=6), rng.normals(32, 2),
    rng.normals(4, 512, 16), rng.weights(16, 32), rng.weights(32, 16), rng.normals(4, 512, 16),
), seed=108)
def s4d_complex_fft_convolution_grad(lib, ar, ai, C, u, win, wout, ct):
    """A diagonal state space applied as a long convolution."""
    jax, jnp, nn = lib.jax, lib.jnp, lib.nn

    def f(ar, ai, C, u):
        A = -jnp.exp(ar) + 1j * ai
        dt = 0.01
        Kn = C[:, 0] + 1j * C[:, 1]
        ker = (2
               * (Kn[:, None] * jnp.exp(dt * A[:, None] * jnp.arange(512))
                  * (jnp.exp(dt * A) - 1)[:, None] / A[:, None]).real)
        x = (u @ win).transpose(0, 2, 1)
        y = jnp.fft.irfft(jnp.fft.rfft(x, 1024) * jnp.fft.rfft(ker, 1024), 1024)[..., :512]
        return nn.gelu(y.transpose(0, 2, 1)) @ wout
    y, pb = jax.vjp(f, ar, ai, C, u)
    return y, pb(ct)


@program(lambda rng: (
    rng.uniforms(48, lo=.5, hi=.99), rng.uniforms(48, hi=3), rng.normals(2, 256, 48),
    rng.normals(48, 2),
), seed=10801)
def lru_complex_associative_scan_grad(lib, nu, th, u, C):
    """A linear recurrence with complex factors."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def f(nu, th, u):
        lam = nu * jnp.exp(1j * th)
        a = jnp.broadcast_to(lam, u.shape)
        _, h = lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]),
                                    (a, u.astype(a.dtype)), axis=1)
        return jnp.real(h * lax.complex(C[:, 0], C[:, 1]))
    y = f(nu, th, u)
    return y, jax.grad(lambda *a: jnp.mean(f(*a) ** 2), (0, 1, 2))(nu, th, u)


@program(lambda rng: (
    rng.normals(8, 60, 30), rng.ints(30, 8, 12, lo=1), rng.ints(60, 8, lo=40),
    rng.ints(12, 8, lo=5),
), seed=25)
def ctc_loss_grad(lib, logits, labels, tlen, llen):
    """The loss over all alignments of labels with frames."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def one(lp, lab, T, U):
        S = 2 * lab.shape[0] + 1
        ext = jnp.zeros(S, jnp.int32).at[1::2].set(lab)
        skip = jnp.concatenate([jnp.zeros(2, bool), (ext[2:] != 0) & (ext[2:] != ext[:-2])])
        neg = -1e30
        a0 = jnp.full(S, neg).at[0].set(lp[0, 0]).at[1].set(lp[0, ext[1]])

        def step(a, t):
            a1 = jnp.concatenate([jnp.array([neg]), a[:-1]])
            a2 = jnp.where(skip, jnp.concatenate([jnp.array([neg, neg]), a[:-2]]), neg)
            n = jnp.logaddexp(jnp.logaddexp(a, a1), a2) + lp[t][ext]
            a = jnp.where(t < T, n, a)
            return a, None
        a, _ = lax.scan(step, a0, jnp.arange(1, lp.shape[0]))
        return -jnp.logaddexp(a[2 * U], a[2 * U - 1])

    def loss(lg):
        return jnp.mean(jax.vmap(one)(nn.log_softmax(lg), labels, tlen, llen))
    return jax.value_and_grad(loss)(logits)


@program(lambda rng: (rng.normals(2, 24, 10, 20), rng.ints(19, 2, 9)), seed=16002)
def rnnt_transducer_loss_grad(lib, lg, lab):
    """The transducer's loss, by nested scans over frames and labels."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def one(lp, y):
        T = lp.shape[0]
        blank = lp[..., -1]
        emit = jnp.concatenate([jnp.take_along_axis(lp[:, :-1], y[None, :, None], -1)[..., 0],
                                jnp.full((T, 1), -1e30)], 1)

        def rowf(prev, x):
            bl, em = x

            def col(left, z_):
                p, e = z_
                v = jnp.logaddexp(p, left + e)
                return v, v
            tot = prev + bl
            _, rest = lax.scan(col, tot[0], (tot[1:], em[:-1]))
            return jnp.concatenate([tot[:1], rest]), None
        first = jnp.concatenate([jnp.zeros(1), jnp.cumsum(emit[0, :-1])])
        a, _ = lax.scan(rowf, first, (blank[:-1], emit[1:]))
        return -(a[-1] + blank[-1, -1])
    return jax.value_and_grad(lambda l: jax.vmap(one)(nn.log_softmax(l), lab).mean())(lg)


@program(lambda rng: (
    rng.normals(8, 20, 16), rng.normals(64, 16), mlp_params(rng, 16 + 16, 64, 16 + 1 + 3 + 16),
    rng.normals(8, 20, 16),
), seed=16007)
def neural_turing_machine_scan_grad(lib, x, mem0, p, t):
    """A network that reads and writes a memory by similarity and shift."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def f(p):
        def step(c, xt):
            mem, w, rd = c
            o_ = mlp(lib, p, jnp.concatenate([xt, rd], -1), jnp.tanh)
            k, b, s, add = jnp.split(o_, [16, 17, 20], -1)
            cos = (jnp.einsum("bnm,bm->bn", mem, k)
                   / (jnp.linalg.norm(mem, axis=-1) * jnp.linalg.norm(k, axis=-1)[:, None] + 1e-6))
            wc = nn.softmax(nn.softplus(b) * cos)
            s = nn.softmax(s)
            w = 0.5 * w + 0.5 * wc
            w = sum(s[:, j:j + 1] * jnp.roll(w, j - 1, 1) for j in range(3))
            mem = mem * (1 - 0.5 * w[..., None]) + w[..., None] * add[:, None]
            rd = jnp.einsum("bn,bnm->bm", w, mem)
            return (mem, w, rd), rd
        c0 = (jnp.tile(mem0, (8, 1, 1)), jnp.full((8, 64), 1 / 64), jnp.zeros((8, 16)))
        _, y = lax.scan(step, c0, x.swapaxes(0, 1))
        return jnp.mean((y.swapaxes(0, 1) - t) ** 2)
    return jax.value_and_grad(f)(p)


@program(lambda rng: (
    rng.normals(4, 64, 6), rng.normals(64, 64, scale=.1), rng.weights(64, 6),
    rng.normals(24, 24, scale=.2),
), seed=18006)
def orthogonal_rnn_expm_and_echo_state_ridge(lib, x, Wr, Win, S):
    """Orthogonal matrices by exponentials; a fixed reservoir and its readout."""
    jax, jnp, lax, linalg = lib.jax, lib.jnp, lib.lax, lib.linalg
    sk = S - S.T
    Q = linalg.expm(sk)
    rho = jnp.max(jnp.abs(jnp.linalg.eigvalsh(Wr @ Wr.T))) ** 0.5
    W = Wr / rho * 0.9

    def step(h, xt):
        h = jnp.tanh(W @ h + Win @ xt)
        return h, h
    H = jax.vmap(lambda s: lax.scan(step, jnp.zeros(64), s)[1])(x).reshape(-1, 64)
    y = jnp.roll(x, -1, 1).reshape(-1, 6)
    beta = jnp.linalg.solve(H.T @ H + 1e-1 * jnp.eye(64), H.T @ y)
    g = jax.grad(lambda S: jnp.sum(jnp.sin(linalg.expm(S - S.T))))(S)
    return Q, Q @ Q.T, H @ beta, g, jnp.linalg.qr(H)[1].shape[0] + 0 * rho


@program(lambda rng: (
    {"emb": rng.normals(64, 24),
     "layers": [{"f": rng.weights(2, 24, 24), "g": rng.weights(2, 24, 24), "r": rng.weights(24, 24),
                 "s": rng.weights(24, 32)} for _ in range(6)], "o": rng.weights(32, 64)},
    rng.ints(64, 2, 512),
), seed=7)
def wavenet_causal_conv1d_grad(lib, p, tok):
    """Causal dilated convolutions with gates and skips."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def causal(x, w, d):
        x = jnp.pad(x, ((0, 0), (d, 0), (0, 0)))
        return lax.conv_general_dilated(x, w, (1,), "VALID", rhs_dilation=(d,),
                                        dimension_numbers=("NWC", "WIO", "NWC"))

    def f(p):
        x = p["emb"][tok]
        skip = 0.0
        for i, l in enumerate(p["layers"]):
            d = 2 ** i
            h = jnp.tanh(causal(x, l["f"], d)) * nn.sigmoid(causal(x, l["g"], d))
            skip = skip + h @ l["s"]
            x = x + h @ l["r"]
        logits = nn.relu(skip) @ p["o"]
        lp = nn.log_softmax(logits[:, :-1])
        return -jnp.take_along_axis(lp, tok[:, 1:, None], -1).mean()
    return jax.value_and_grad(f)(p)


@program(lambda rng: (
    rng.normals(2, 200, 32), rng.weights(32, 64), rng.normals(15, 1, 32, scale=.2),
    rng.weights(32, 32), norm_params(32),
), seed=11004, rtol=3e-2)
def conformer_conv_module_bf16(lib, x, w1, dw, w2, ln):
    """The convolution module of a speech model, in bfloat16."""
    jax, jnp, lax, nn = lib.jax, lib.jnp, lib.lax, lib.nn

    def f(x, w1, dw, w2):
        x, w1, dw, w2 = (t.astype(jnp.bfloat16) for t in (x, w1, dw, w2))
        h = nn.glu(x @ w1, -1)
        h = lax.conv_general_dilated(h, dw, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"),
                                     feature_group_count=32)
        h = h.astype(jnp.float32)
        h = nn.swish(layer_norm(lib, h, ln))
        return (h.astype(jnp.bfloat16) @ w2).astype(jnp.float32) + x
    y, pb = jax.vjp(f, x, w1, dw, w2)
    return y, pb(jnp.ones_like(y) / 100)


@program(lambda rng: (
    rng.normals(16, 100, 6), rng.weights(6, 32), rng.weights(32, 32), rng.weights(32, 1),
    rng.normals(16),
), seed=20010)
def truncated_bptt_checkpointed_scan_of_scan_grad(lib, x, wi, wh, wo, y):
    """Chunks computed again backwards, and a Hessian times a vector."""
    jax, jnp, lax = lib.jax, lib.jnp, lib.lax

    def f(wi, wh, wo):
        @jax.checkpoint
        def chunk(h, xc):
            def step(h, xt):
                h = jnp.tanh(xt @ wi + h @ wh)
                return h, None
            h, _ = lax.scan(step, h, xc)
            return h, h
        h, hs = lax.scan(chunk, jnp.zeros((16, 32)), x.swapaxes(0, 1).reshape(10, 10, 16, 6))
        return jnp.mean(((h @ wo)[:, 0] - y) ** 2) + 1e-2 * jnp.mean(hs ** 2)
    g = jax.grad(f, (0, 1, 2))
    hv = jax.jvp(g, (wi, wh, wo), (jnp.ones_like(wi), wh, wo))[1]
    return f(wi, wh, wo), g(wi, wh, wo), hv
