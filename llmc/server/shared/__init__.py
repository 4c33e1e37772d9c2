"""shared: a server of a shared index, `llmc serve --http HOST:PORT --shared URL`.

It runs in its own process, without a daemon, and keeps nothing that another server would need: `service` answers from
the tables, `stored_handles` keeps handles beside them. `authentication` turns a token (`token_file`) or a JWT
(`issuer`) into a caller and the repositories that it may read; `audit` writes down every call. `app` is the
application, `serve` runs it.
"""
