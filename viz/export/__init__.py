"""Pictures and recordings as files."""
