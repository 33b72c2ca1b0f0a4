"""Functions of `jax.nn`."""

import pytest
from compare import cases, check, name_of, pool, seed_of
from known import TOLERANCES, expecting

ACTIVATIONS = """relu relu6 sigmoid softplus sparse_plus soft_sign silu swish log_sigmoid leaky_relu
hard_sigmoid hard_silu hard_swish hard_tanh elu celu selu gelu squareplus mish identity softmax
log_softmax logsumexp standardize tanh glu""".split()
NN = {
    "real": "\n".join(f"nn.{n}(x)" for n in ACTIVATIONS) + """
        nn.gelu(x, approximate=False)
        nn.softmax(x, axis=0)
        nn.softmax(x, axis=(0, 1))
        nn.softmax(x, where=b)
        nn.log_softmax(x, axis=0)
        nn.logsumexp(x, axis=0, keepdims=True)
        nn.logsumexp(x, b=y, return_sign=True)
        nn.logmeanexp(x, axis=1)
        nn.standardize(x, axis=0, epsilon=1e-3)
        nn.one_hot(n, 5)
        nn.one_hot(i, 3, dtype='int8', axis=0)
        nn.relu(2.5)
        nn.elu(x, 2.)
        nn.leaky_relu(x, 0.2)
        nn.glu(x, axis=1)
        nn.dot_product_attention(t[:, :, None], t[:, :, None], t[:, :, None])
        nn.dot_product_attention(t[:, :, None], t[:, :, None], t[:, :, None], is_causal=True)
        jax.grad(lambda a: nn.relu(a).sum())(x)
        jax.grad(lambda a: nn.gelu(a).sum())(x)
        jax.grad(lambda a: (nn.softmax(a) ** 2).sum())(x)
        jax.grad(lambda a: nn.logsumexp(a))(x)
        jax.grad(lambda a: nn.silu(a).sum())(x)
        nn.initializers.zeros(random.key(0), (2, 3))
        nn.initializers.glorot_uniform()(random.key(0), (2, 3))
        nn.initializers.he_normal()(random.key(0), (4, 3))
        nn.initializers.normal(0.1)(random.key(0), (4, 3), 'float16')
        nn.initializers.variance_scaling(2., 'fan_avg', 'truncated_normal')(random.key(1), (4, 3))
    """
}


@pytest.mark.parametrize("case", cases(NN, 2), ids=name_of)
def test_nn(case):
    line, dtype, other, jit = case
    with expecting(line, dtype):
        check(line, pool(dtype, other, seed_of(line)), jit, TOLERANCES.get(line))
