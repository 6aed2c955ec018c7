"""The same program run again with changes: compared, trained, mistaken and mended."""
