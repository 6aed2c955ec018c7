"""The widgets of `viz`: a player that walks through a recording, an explorer that changes a program."""
