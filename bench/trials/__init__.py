"""Agent trials: transcripts of real agents, summarised and replayed."""
