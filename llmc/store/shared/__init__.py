"""shared: where is the index of a whole team?

A shared index is a LanceDB database in object storage, or in a directory. Repositories are published to it, one
manifest for each repository and ref, and any number of servers read it. `PublishedStore` gives retrieval, graph and
tools the same view of a published repository that `Store` gives them of a local root.

    storage.py      objects beside the tables, conditional writes, errors of the storage
    schema.py       tables, indexes, format version
    database.py     opening, creating and appending; the only module that calls LanceDB
    access.py       which repositories a caller may read: the clause of every query
    keywords.py     words and trigrams
    vectors.py      nearest neighbours
    manifest.py     repository@ref → commit, files and documents
    documents.py    contents, chunks, symbols and references of documents
    catalog.py      one published repository as a catalog
    published.py    one published repository as a store and as files
    index.py        what a server reads: heads, selections, refresh
    publishing.py   what a publisher writes
    maintenance.py  optimize, verify, drop, retention
"""
