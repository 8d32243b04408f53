"""The experiments of the four papers, and what comes beyond them, in the order in which to read them."""

from paper import beyond, cell_space, datacutter, remote_store, tpc

EXPERIMENTS = (
    *tpc.EXPERIMENTS,
    *cell_space.EXPERIMENTS,
    *datacutter.EXPERIMENTS,
    *remote_store.EXPERIMENTS,
    *beyond.EXPERIMENTS,
)
