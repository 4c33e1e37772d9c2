"""vectors: which chunks are nearest to this vector?

One LanceDB table per embedding model holds every vector of a store. `lance_table` defines the format
on disk, reads and writes it, `exact_copy` answers for small tables from memory, `vector_index` combines them into the
`VectorStore` that the rest of the store uses, and `engine` imports LanceDB without making a query wait for it.

    import lancedb
    table = lancedb.connect("<store>/vectors").open_table("chunks_1")
    table.search(vector).limit(10).to_list()      # rows of (doc, ordinal, vector, _distance)
"""

from llmc.store.vectors.vector_index import VectorIndex, VectorState

__all__ = ["VectorIndex", "VectorState"]
