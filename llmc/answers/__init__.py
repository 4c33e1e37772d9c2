"""answers: questions answered in one call: research, ask, and the model loop they share."""
