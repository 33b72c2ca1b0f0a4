"""Trains a convolutional classifier on handwritten digits.

    pip install 'jitney[examples]'
    python examples/digits.py [--quick] [--output digits.png]

Data: the 1 797 images of 8 x 8 pixels that scikit-learn ships, one in five kept for the test. Two
convolutions and two dense layers, minibatches, Adam in twenty lines; an epoch is one compiled
`scan`. Out: the test accuracy (97 % and more), and a picture with the learning curves and the
digits that are taken for others.
"""

import argparse
import functools
from pathlib import Path

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney import lax, nn

CLASSES = 10
DIMENSIONS = ("NHWC", "HWIO", "NHWC")


# --- the network ---------------------------------------------------------------------------------


def new_parameters(key):
    """Weights by He's rule, biases zero."""
    shapes = {"conv1": (3, 3, 1, 16), "conv2": (3, 3, 16, 32), "dense": (2 * 2 * 32, 64),
              "out": (64, CLASSES)}
    keys = jitney.random.split(key, len(shapes))
    start = nn.initializers.he_normal()
    return {name: {"w": start(k, shape), "b": jnp.zeros(shape[-1])}
            for k, (name, shape) in zip(keys, shapes.items())}


def convolved(layer, x):
    out = lax.conv_general_dilated(x, layer["w"], (1, 1), "SAME", dimension_numbers=DIMENSIONS)
    return nn.relu(out + layer["b"])


def pooled(x):
    """The largest of every 2 x 2 pixels."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def logits_of(parameters, images):
    """Scores of the ten classes, (n, 10), for images (n, 8, 8)."""
    x = pooled(convolved(parameters["conv1"], images[..., None]))
    x = pooled(convolved(parameters["conv2"], x)).reshape(len(images), -1)
    x = nn.relu(x @ parameters["dense"]["w"] + parameters["dense"]["b"])
    return x @ parameters["out"]["w"] + parameters["out"]["b"]


def loss_of(parameters, images, labels):
    """Mean cross entropy."""
    chosen = nn.log_softmax(logits_of(parameters, images)) * nn.one_hot(labels, CLASSES)
    return -jnp.mean(jnp.sum(chosen, axis=-1))


# --- Adam (Kingma and Ba, 2015) ------------------------------------------------------------------


def adam_start(parameters):
    zeros = jitney.tree.map(jnp.zeros_like, parameters)
    return {"mean": zeros, "square": zeros, "step": jnp.zeros((), jnp.int32)}


def adam_update(parameters, gradients, state, rate=2e-3, decay=0.9, square_decay=0.999):
    """(parameters, state) after one step."""
    step = state["step"] + 1
    mean = jitney.tree.map(lambda m, g: decay * m + (1 - decay) * g, state["mean"], gradients)
    square = jitney.tree.map(lambda s, g: square_decay * s + (1 - square_decay) * g * g,
                             state["square"], gradients)

    def moved(p, m, s):
        m, s = m / (1 - decay ** step), s / (1 - square_decay ** step)
        return p - rate * m / (jnp.sqrt(s) + 1e-8)

    parameters = jitney.tree.map(moved, parameters, mean, square)
    return parameters, {"mean": mean, "square": square, "step": step}


# --- training ------------------------------------------------------------------------------------


@functools.partial(jitney.jit, static_argnames="batch")
def train_epoch(parameters, state, key, images, labels, batch=64):
    """One pass over the images in a random order: (parameters, state, mean loss)."""
    count = len(images) // batch
    order = jitney.random.permutation(key, len(images))[:count * batch].reshape(count, batch)

    def step(carry, rows):
        parameters, state = carry
        loss, gradients = jitney.value_and_grad(loss_of)(parameters, images[rows], labels[rows])
        return adam_update(parameters, gradients, state), loss

    (parameters, state), losses = lax.scan(step, (parameters, state), order)
    return parameters, state, jnp.mean(losses)


@jitney.jit
def predicted(parameters, images):
    return jnp.argmax(logits_of(parameters, images), axis=-1)


def load_digits(test_every=5, seed=0):
    """((images, labels) to train with, (images, labels) to test with), pixels in [0, 1]."""
    from sklearn import datasets

    digits = datasets.load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.images))
    images = (digits.images[order] / 16.0).astype(np.float32)
    labels = digits.target[order].astype(np.int32)
    test = np.arange(len(images)) % test_every == 0
    return (images[~test], labels[~test]), (images[test], labels[test])


def train(epochs, progress, seed=0):
    """(parameters, losses, test accuracies); `progress(epoch, loss, accuracy)` after each epoch."""
    (images, labels), (test_images, test_labels) = load_digits()
    key = jitney.random.key(seed)
    parameters = new_parameters(key)
    state = adam_start(parameters)
    losses, accuracies = [], []
    for epoch in range(epochs):
        parameters, state, loss = train_epoch(
            parameters, state, jitney.random.fold_in(key, epoch), images, labels)
        losses.append(float(loss))
        accuracies.append(float(np.mean(predicted(parameters, test_images) == test_labels)))
        progress(epoch + 1, losses[-1], accuracies[-1])
    return parameters, losses, accuracies


# --- what is shown -------------------------------------------------------------------------------


def draw(parameters, losses, accuracies, path):
    """Learning curves, and up to ten misclassified digits."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    _, (images, labels) = load_digits()
    guesses = np.asarray(predicted(parameters, images))
    wrong = np.flatnonzero(guesses != labels)[:10]
    figure = pyplot.figure(figsize=(8, 6), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=(3, 2))
    left, right = top.subplots(1, 2)
    epochs = np.arange(1, len(losses) + 1)
    left.semilogy(epochs, losses, color="tab:red")
    left.set(xlabel="epoch", title="training loss")
    right.plot(epochs, 100 * np.array(accuracies), color="tab:blue")
    right.axhline(97, color="gray", linestyle=":", linewidth=1)
    right.set(xlabel="epoch", title=f"test accuracy: {100 * accuracies[-1]:.1f} %")
    bottom.suptitle(f"{(guesses != labels).sum()} of {len(labels)} test digits taken for others")
    for axes, i in zip(bottom.subplots(2, 5).flat, [*wrong, *[None] * 10]):
        axes.axis("off")
        if i is not None:
            axes.imshow(images[i], cmap="gray_r")
            axes.set_title(f"{labels[i]} taken for {guesses[i]}", fontsize=9)
    figure.savefig(path, dpi=110)


def main(arguments=None):
    """Trains, draws, and returns the test accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--quick", action="store_true", help="four epochs only")
    parser.add_argument("--output", type=Path, default=Path("digits.png"))
    options = parser.parse_args(arguments)
    from rich.progress import Progress, TextColumn

    epochs = 4 if options.quick else options.epochs
    with Progress(*Progress.get_default_columns(), TextColumn("{task.fields[text]}")) as bar:
        task = bar.add_task("training", total=epochs, text="")

        def show(epoch, loss, accuracy):
            bar.update(task, completed=epoch,
                       text=f"loss {loss:.4f}, test accuracy {100 * accuracy:.1f} %")

        parameters, losses, accuracies = train(epochs, show)
    draw(parameters, losses, accuracies, options.output)
    print(f"test accuracy {100 * accuracies[-1]:.2f} %, picture {options.output}")
    return accuracies[-1]


if __name__ == "__main__":
    main()
