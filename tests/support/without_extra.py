"""`tinygrad_edu/extra/` taken away: nothing can import it, as if the folder were not there."""

TAKEN_AWAY = """
import sys

class TakenAway:
    def find_spec(self, name, path=None, target=None):
        if name == "tinygrad_edu.extra" or name.startswith("tinygrad_edu.extra."):
            raise ModuleNotFoundError(f"{name} was taken away")

assert not any(name.startswith("tinygrad_edu.extra") for name in sys.modules)
sys.meta_path.insert(0, TakenAway())
"""
