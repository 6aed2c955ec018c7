"""The models of torchvision, timm and transformers, if installed: each is drawn whole, in ten seconds, and unchanged.

`pytest -m long tests/viz/test_zoo.py`. Weights are random and inputs small: nothing is downloaded.
"""

import importlib
import itertools
import os

import pytest
import torch

import viz
from viz.picture.nested import compose
from viz.picture.network import CELL

pytestmark = [pytest.mark.long, pytest.mark.timeout(7200), pytest.mark.filterwarnings("ignore")]
LARGEST = 130e6  # parameters: a larger model takes more memory than a laptop has
SECONDS = 10  # of the processor
LEAST = 0.98  # of the models of a library are drawn as they should be
# Pixels of an image.
HEIGHTS = {"googlenet": 224, "inception_v3": 299, "vit_b_16": 224, "vit_b_32": 224, "maxvit_t": 224}


def of_torchvision():
    models = importlib.import_module("torchvision.models")
    for name in models.list_models(module=models):
        try:
            with torch.device("meta"):
                made = models.get_model(name, weights=None)
        except NotImplementedError:  # a RegNet computes with tensors as it is made
            made = models.get_model(name, weights=None)
        if sum(one.numel() for one in made.parameters()) <= LARGEST:
            side = HEIGHTS.get(name, 128)
            yield name, lambda name=name: models.get_model(name, weights=None), (torch.rand(2, 3, side, side),)


def of_timm():
    timm = importlib.import_module("timm")
    for family, names in itertools.groupby(sorted(timm.list_models()), key=lambda name: name.split("_")[0]):
        name = min(names, key=len)
        with torch.device("meta"):
            try:
                made = timm.create_model(name)
            except Exception:  # one that computes with its weights as it is made
                continue
        if sum(one.numel() for one in made.parameters()) < LARGEST:
            size = made.default_cfg.get("input_size", (3, 224, 224))
            yield family, lambda name=name: timm.create_model(name), (torch.rand(2, *size),)


def of_transformers():
    library = importlib.import_module("transformers")
    small = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 32}
    small |= {"intermediate_size": 64, "max_position_embeddings": 64, "vocab_size": 99, "pad_token_id": 0}
    names = library.MODEL_MAPPING_NAMES if hasattr(library, "MODEL_MAPPING_NAMES") else _text_models()
    for name in sorted(names):
        given = (torch.randint(1, 99, (2, 12)),)
        try:
            config = library.AutoConfig.for_model(name, **small)
            with torch.device("meta"):
                parameters = sum(one.numel() for one in library.AutoModel.from_config(config).parameters())
            if parameters > LARGEST:
                continue
            library.AutoModel.from_config(config).eval()(*given)
        except Exception:  # a kind that needs more than these settings and words
            continue
        yield name, lambda config=config: library.AutoModel.from_config(config), given


def _text_models():
    mapping = importlib.import_module("transformers.models.auto.modeling_auto")
    return [*mapping.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, *mapping.MODEL_FOR_MASKED_LM_MAPPING_NAMES]


def wrong(make, given):
    """What is wrong with the picture of a model; empty if nothing is."""
    torch.manual_seed(0)
    model = make().eval()
    called, handles = [], []
    before = {name: one.clone() for name, one in model.state_dict().items()}
    random, began = torch.get_rng_state(), sum(os.times()[:4])
    picture = viz.draw(model, *given)
    whole = picture._network[3]
    spent = sum(os.times()[:4]) - began  # that of other processes, too, such as Graphviz's
    size = compose(whole, whole.first)
    moved = [name for name, one in model.state_dict().items() if not torch.equal(one, before[name])]
    if moved or not torch.equal(random, torch.get_rng_state()):
        return "the model or the random numbers are not as before"
    for path, module in model.named_modules():
        handles.append(module.register_forward_hook(lambda *_, path=path: called.append(path)))
    with torch.no_grad():
        model(*given)
    for handle in handles:
        handle.remove()
    if sorted(call.path for call in picture.calls) != sorted(called):
        return f"{len(picture.calls)} calls, and hooks see {len(called)}"
    if size.width > CELL[0] or size.height > CELL[1]:
        return f"{size.width:.0f} x {size.height:.0f} pixels"
    return f"{spent:.0f} s" if spent > SECONDS else ""


@pytest.mark.parametrize(
    "models", [of_torchvision, of_timm, of_transformers], ids=["torchvision", "timm", "transformers"]
)
def test_the_models_of_a_library_are_drawn_whole_and_left_as_they_were(models):
    pytest.importorskip(models.__name__.removeprefix("of_"))
    found = {}
    for name, make, given in models():
        try:
            found[name] = wrong(make, given)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
        print(name, found[name] or "right", flush=True)
    assert len(found) > 20
    failed = {name: one for name, one in found.items() if one}
    assert len(found) - len(failed) >= LEAST * len(found), failed
