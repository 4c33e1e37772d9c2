"""state: what the server remembers between calls: sessions, the token ledger, metrics."""
