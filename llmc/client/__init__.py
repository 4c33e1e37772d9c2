"""client: how does a process reach the daemon? The thin client and the stdio relay, in the standard library alone."""
