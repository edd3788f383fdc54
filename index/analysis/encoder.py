"""The tagger's window encoder: the layers of spaCy's model, each as one product and two passes.

thinc makes a dozen passes over a layer's rows, each into fresh memory; a third of the encoder's
time went into them. The product stays thinc's own, and the passes add in the order in
which numpy does, so the outcome is the same to the last bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from index.analysis.kernels import add_normalised, best_of_pieces, widen
from index.types import Float32Array, Int64Array

PIECES = 3
"""Linear pieces of a maxout unit, as spaCy's models have."""
LONGEST_SUM = 128
"""Numbers up to which numpy sums in one pass, with eight partial sums."""
_TINY = 1e-08
"""What thinc's layer norm adds to a variance."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Maxout and layer norm: ``weights`` float32[3 * width, inputs], the first pieces first."""

    ops: Any
    weights: Float32Array
    bias: Float32Array
    gain: Float32Array
    shift: Float32Array

    @classmethod
    def of(cls, model: Any) -> Self | None:
        """The layer of a thinc model; None where the model is built otherwise."""
        if model.name != "maxout>>layernorm>>dropout":
            return None
        maxout, norm = model.layers[0].layers
        weights, bias = maxout.get_param("W"), maxout.get_param("b")
        width, pieces, inputs = weights.shape
        if pieces != PIECES or width % 8 or width > LONGEST_SUM:
            return None
        return cls(
            model.ops,
            np.ascontiguousarray(weights.transpose(1, 0, 2)).reshape(pieces * width, inputs),
            np.ascontiguousarray(bias.T).reshape(-1),
            norm.get_param("G"),
            norm.get_param("b"),
        )

    @property
    def width(self) -> int:
        """Numbers in a row of its outcome."""
        return len(self.gain)

    def add(self, inputs: Float32Array, rows: Float32Array, room: Float32Array) -> None:
        """Add the outcome for ``inputs`` float32[n, inputs] to ``rows`` float32[n, width].

        ``room`` float32[n, 4 * width]: for what is in between; its contents do not matter.
        """
        scores, best = _parts(room, (3, 1))
        self.ops.gemm(inputs, self.weights, trans2=True, out=scores)
        mean, variance = np.empty((2, len(rows)), np.float32)
        best_of_pieces(scores, self.bias, best, mean, variance)
        scale = (variance + _TINY) ** (-1.0 / 2.0)
        add_normalised(best, mean, scale, self.gain, self.shift, rows)


class WindowEncoder:
    """Layers that look one row to each side; what is found in a text depends on it alone."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        self._room = np.empty((0, 8 * layers[0].width), np.float32)

    @classmethod
    def of(cls, model: Any) -> Self | None:
        """The encoder of a thinc model; None where the model is built otherwise."""
        if model.name != f"with_array({model.layers[0].name})":
            return None
        blocks = model.layers[0].layers
        layers = [layer for block in blocks if (layer := _layer_of_block(block)) is not None]
        if len(layers) != len(blocks) or model.attrs["pad"] != len(layers):
            return None
        return cls(layers)

    def encode(self, rows: Float32Array, lengths: Sequence[int]) -> Float32Array:
        """Texts' rows, float32[n, width], one text after another; the same shape."""
        inside, padded = self._places(lengths)
        if padded > len(self._room):
            # Fresh memory for every text would cost a fifth of the products' time in page faults.
            self._room = np.empty((padded, self._room.shape[1]), np.float32)
        held, windows, room = _parts(self._room[:padded], (1, 3, 4))
        held[:] = 0
        held[inside] = rows
        for layer in self._layers:
            widen(held, windows)
            layer.add(windows, held, room)
        encoded: Float32Array = held[inside]
        return encoded

    def _places(self, lengths: Sequence[int]) -> tuple[Int64Array, int]:
        """Where the rows stand among empty ones that keep the texts apart, and how many in all."""
        held = [length for length in lengths if length]
        shift = np.repeat(np.arange(1, len(held) + 1), held) * len(self._layers)
        count = len(shift)
        return shift + np.arange(count), count + (len(held) + 1) * len(self._layers)


def _parts(room: Float32Array, shares: Sequence[int]) -> list[Float32Array]:
    """Memory cut into contiguous arrays of as many rows, their widths in these proportions."""
    unit = room.size // sum(shares)
    cuts = np.cumsum(shares)[:-1] * unit
    return [part.reshape(len(room), -1) for part in np.split(room.reshape(-1), cuts)]


def _layer_of_block(block: Any) -> Layer | None:
    """The layer inside ``residual(expand_window>>maxout>>layernorm>>dropout)``."""
    if block.name != "residual(expand_window>>maxout>>layernorm>>dropout)":
        return None
    window, inner = block.layers[0].layers
    return Layer.of(inner) if window.attrs["window_size"] == 1 else None
