"""The counts of a snapshot, from its living chunks."""

import numpy as np

from index.counts.graph import Counts
from index.snapshot import Snapshot


def counts_of(snapshot: Snapshot) -> Counts:
    """Counted anew; shares no code with the signed deltas."""
    matrix = snapshot.chunk_concepts
    if not snapshot.alive.all():
        matrix = matrix[np.flatnonzero(snapshot.alive)]
    return Counts.build(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), snapshot.concept_count
    )
