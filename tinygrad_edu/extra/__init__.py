"""Everything else that programs need, by subject. `seam/` has the table of its names; nothing outside imports it."""
