"""tools: what can a client call? One file for each tool, `registry` lists them, `call` is the one way to run them."""
