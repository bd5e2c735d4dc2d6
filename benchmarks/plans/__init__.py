"""Plans against the settings that a user could flip for a whole model, over a suite of models."""
