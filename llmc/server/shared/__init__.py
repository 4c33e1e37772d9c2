"""shared: a server of a shared index, `llmc serve --http HOST:PORT --shared URL`.

It runs in its own process, without a daemon, and has no state that another server would need: `service` answers from
the tables, stores handles beside them and writes the audit log. `authentication` turns a token (`token_file`) or a JWT
into a caller and the repositories that it may read. `app` is the application, `serve` runs it.
"""
