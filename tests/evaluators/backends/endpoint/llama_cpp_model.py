"""The bundled model in a form that llama.cpp serves, images included, and the same in transformers' form.

llama.cpp cannot serve the bundled model as it is. What has to change, changes in both forms alike, so that they are one
model, if not quite the bundled one:

- llama.cpp puts CLIP's class token behind the patches, where it has to stand before them, so that each patch gets its
  neighbour's place (https://github.com/ggml-org/llama.cpp/issues/25814). So the vision tower is a SigLIP, which has no
  class token, with the bundled model's weights; the first normalization, which SigLIP lacks, is left out.
- Of ways to split words before merging, it knows a fixed list. That of SuperBPE differs around digits alone.
- The projector has the tanh approximation of GELU.
- It puts a line break between two texts of a message that holds images, whatever the chat template says. So the
  template here puts one there too.

GGUF is described at https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; the names of keys and tensors are those
that llama.cpp reads (`src/llama-arch.cpp`, `tools/mtmd/clip-impl.h`).
"""

import json
import shutil
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from eyechart.evaluators import tiny_vlm

# Types of values in a file's header, and how they are packed.
_PACKED = {"uint32": (4, "<I"), "int32": (5, "<i"), "float32": (6, "<f"), "bool": (7, "<?")}
_STRING, _ARRAY = 8, 9
_FLOAT32_TENSOR = 0
_ALIGNMENT = 32
_NORMAL_TOKEN, _CONTROL_TOKEN = 1, 3
# Of the chat template.
_TEXT_PART = "{%- elif part['type'] == 'text' -%}"
_LINE_BREAK = (
    "{%- if loop.index0 and message['content'][loop.index0 - 1]['type'] == 'text' -%}{{- '\\n' -}}{%- endif -%}"
)
_TOWER, _PROJECTOR = "vision_tower.vision_model.", "multi_modal_projector."
# SuperBPE's: digits are split off, and long numbers at their thousands.
_SPLITS = (r"\p{N}+", r"(?=(\d{3})+(?!\d))")


def write_transformers_folder(folder: Path) -> None:
    """Write the model as transformers loads it."""
    shutil.copytree(tiny_vlm.folder(), folder)
    vision = json.loads((folder / "config.json").read_text())["vision_config"]
    vision |= {"model_type": "siglip_vision_model", "vision_use_head": False}
    _edit(folder / "config.json", vision_config=vision, projector_hidden_act="gelu_pytorch_tanh", image_seq_length=16)
    _edit(folder / "processor_config.json", num_additional_image_tokens=0)
    splits = [
        {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": False} for split in _SPLITS
    ]
    as_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    _edit(folder / "tokenizer.json", pre_tokenizer={"type": "Sequence", "pretokenizers": [*splits, as_bytes]})
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text().replace(_TEXT_PART, _TEXT_PART + _LINE_BREAK))
    tensors, embeddings = load_file(folder / "model.safetensors"), _TOWER + "embeddings."
    tensors[f"{embeddings}patch_embedding.bias"] = np.zeros(vision["hidden_size"], np.float32)
    tensors[f"{embeddings}position_embedding.weight"] = tensors[f"{embeddings}position_embedding.weight"][1:]
    del tensors[f"{embeddings}class_embedding"]
    for kind in ("weight", "bias"):
        del tensors[f"{_TOWER}pre_layrnorm.{kind}"]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def write_gguf_files(folder: Path, language: Path, vision: Path) -> None:
    """Write the model in a folder of transformers as llama.cpp loads it: `-m` the language, `--mmproj` the vision."""
    config, tensors = json.loads((folder / "config.json").read_text()), load_file(folder / "model.safetensors")
    _write(language, _language_keys(config, folder), _language_tensors(config["text_config"], tensors))
    _write(vision, _vision_keys(config, folder), _vision_tensors(config["vision_config"], tensors))


def _edit(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def _language_keys(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    text, tokenizer = config["text_config"], json.loads((folder / "tokenizer.json").read_text())
    tokens = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    special = {token["id"] for token in tokenizer["added_tokens"]}
    return {
        "general.architecture": "llama",
        "general.name": "eyechart stand-in",
        "llama.vocab_size": ("uint32", text["vocab_size"]),
        "llama.context_length": ("uint32", text["max_position_embeddings"]),
        "llama.embedding_length": ("uint32", text["hidden_size"]),
        "llama.block_count": ("uint32", text["num_hidden_layers"]),
        "llama.feed_forward_length": ("uint32", text["intermediate_size"]),
        "llama.attention.head_count": ("uint32", text["num_attention_heads"]),
        "llama.attention.head_count_kv": ("uint32", text["num_key_value_heads"]),
        "llama.attention.layer_norm_rms_epsilon": ("float32", text["rms_norm_eps"]),
        "llama.rope.freq_base": ("float32", text["rope_parameters"]["rope_theta"]),
        "llama.rope.dimension_count": ("uint32", text["head_dim"]),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "superbpe",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": (
            "int32",
            [_CONTROL_TOKEN if number in special else _NORMAL_TOKEN for number in range(len(tokens))],
        ),
        "tokenizer.ggml.merges": [" ".join(pair) for pair in tokenizer["model"]["merges"]],
        "tokenizer.ggml.eos_token_id": ("uint32", text["eos_token_id"]),
        "tokenizer.ggml.padding_token_id": ("uint32", text["pad_token_id"]),
        "tokenizer.ggml.add_bos_token": ("bool", False),
        "tokenizer.chat_template": (folder / "chat_template.jinja").read_text(),
    }


def _language_tensors(text: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    heads = text["num_attention_heads"]

    def turned(weight: np.ndarray) -> np.ndarray:
        # The two halves of a rotated pair stand half a head apart in transformers, and side by side here.
        return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)

    theirs = "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj mlp.gate_proj mlp.up_proj"
    theirs += " mlp.down_proj input_layernorm post_attention_layernorm"
    ours = "attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down attn_norm ffn_norm"
    names = dict(zip(theirs.split(), ours.split(), strict=True))
    renamed = {
        "token_embd.weight": tensors["language_model.model.embed_tokens.weight"],
        "output_norm.weight": tensors["language_model.model.norm.weight"],
    }
    for layer in range(text["num_hidden_layers"]):
        for old, new in names.items():
            weight = tensors[f"language_model.model.layers.{layer}.{old}.weight"]
            renamed[f"blk.{layer}.{new}.weight"] = turned(weight) if new in ("attn_q", "attn_k") else weight
    return renamed


def _vision_keys(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    vision = config["vision_config"]
    images = json.loads((folder / "processor_config.json").read_text())["image_processor"]
    return {
        "general.architecture": "clip",
        "clip.has_vision_encoder": ("bool", True),
        "clip.projector_type": "mlp",
        "clip.vision.image_size": ("uint32", vision["image_size"]),
        "clip.vision.patch_size": ("uint32", vision["patch_size"]),
        "clip.vision.embedding_length": ("uint32", vision["hidden_size"]),
        "clip.vision.feed_forward_length": ("uint32", vision["intermediate_size"]),
        "clip.vision.block_count": ("uint32", vision["num_hidden_layers"]),
        "clip.vision.projection_dim": ("uint32", config["text_config"]["hidden_size"]),
        "clip.vision.attention.head_count": ("uint32", vision["num_attention_heads"]),
        "clip.vision.attention.layer_norm_epsilon": ("float32", vision["layer_norm_eps"]),
        # The output of the last layer; by itself it would be that of the last but one.
        "clip.vision.feature_layer": ("int32", [vision["num_hidden_layers"]]),
        "clip.vision.image_mean": ("float32", images["image_mean"]),
        "clip.vision.image_std": ("float32", images["image_std"]),
    }


def _vision_tensors(vision: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    theirs = "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj layer_norm1 layer_norm2"
    theirs += " mlp.fc1 mlp.fc2"
    ours = "attn_q attn_k attn_v attn_out ln1 ln2 ffn_up ffn_down"
    names = dict(zip(theirs.split(), ours.split(), strict=True))
    renamed = {
        "v.patch_embd.weight": tensors[f"{_TOWER}embeddings.patch_embedding.weight"],
        "v.patch_embd.bias": tensors[f"{_TOWER}embeddings.patch_embedding.bias"],
        "v.position_embd.weight": tensors[f"{_TOWER}embeddings.position_embedding.weight"],
    }
    for kind in ("weight", "bias"):
        renamed[f"mm.0.{kind}"] = tensors[f"{_PROJECTOR}linear_1.{kind}"]
        renamed[f"mm.2.{kind}"] = tensors[f"{_PROJECTOR}linear_2.{kind}"]
        for layer in range(vision["num_hidden_layers"]):
            for old, new in names.items():
                renamed[f"v.blk.{layer}.{new}.{kind}"] = tensors[f"{_TOWER}encoder.layers.{layer}.{old}.{kind}"]
    return renamed


def _write(path: Path, keys: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys))
    header += b"".join(_string(key) + _value(value) for key, value in keys.items())
    data = b""
    for name, tensor in tensors.items():
        # The fastest dimension first.
        header += _string(name) + struct.pack(f"<I{tensor.ndim}Q", tensor.ndim, *reversed(tensor.shape))
        header += struct.pack("<IQ", _FLOAT32_TENSOR, len(data))
        data += _padded(tensor.astype("<f4").tobytes())
    path.write_bytes(_padded(header) + data)


def _value(value: Any) -> bytes:
    """A string, a list of strings, or a type with a number or a list of numbers."""
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    if isinstance(value, list):
        return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + b"".join(map(_string, value))
    number, form = _PACKED[value[0]]
    if isinstance(value[1], list):
        return struct.pack("<IIQ", _ARRAY, number, len(value[1])) + b"".join(struct.pack(form, x) for x in value[1])
    return struct.pack("<I", number) + struct.pack(form, value[1])


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNMENT)
