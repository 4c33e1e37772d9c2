"""client: how does a process reach the daemon? The thin client and the stdio relay; standard library only."""
