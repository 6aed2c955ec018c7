"""The same program run again with changes: compared, trained, with a mistake and its fix."""
