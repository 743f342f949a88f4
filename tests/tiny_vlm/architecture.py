"""The tiny model's parts before training: tokenizer, processor, chat template and the LLaVA configuration.

Everything is a stock transformers class, so that the trained folder loads with `AutoModelForImageTextToText` and
`AutoProcessor` like any other LLaVA model.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import LlavaForConditionalGeneration, LlavaProcessor, PreTrainedTokenizerFast

IMAGE_SIZE = 64
"""Width and height of the images that the model sees, in pixels."""
PATCH_SIZE = 16
WIDTH = 96
VISION_LAYERS = 3
TEXT_LAYERS = 5
HEADS = 3  # of 32 dimensions each, the minimum for vLLM
IMAGE_TOKENS = (IMAGE_SIZE // PATCH_SIZE) ** 2 + 1  # the patches and the class token
CONTEXT = 2048
VOCABULARY = 1280
# The transformers default of 0.02 stalls at this width.
INITIALIZER_RANGE = 0.1

# The last assistant turn is left open, so that a prefilled reply is continued by any server.
CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{- 'ASSISTANT:' if message['role'] == 'assistant' else message['role'] | upper + ':' -}}"
    "{%- if message['content'] is string -%}{{- ' ' + message['content'] -}}"
    "{%- else -%}{{- ' ' -}}"
    "{%- for part in message['content'] -%}"
    "{%- if part['type'] == 'image' -%}{{- '<image>' -}}"
    "{%- elif part['type'] == 'text' -%}{{- part['text'] -}}{%- endif -%}"
    "{%- endfor -%}{%- endif -%}"
    "{%- if not loop.last -%}{{- '</s>' if message['role'] == 'assistant' else '\n' -}}"
    "{%- elif message['role'] != 'assistant' -%}{{- '\n' -}}{%- endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt and messages[-1]['role'] != 'assistant' -%}{{- 'ASSISTANT:' -}}{%- endif -%}"
)


def build_tokenizer(texts: Iterable[str]) -> "PreTrainedTokenizerFast":
    """A byte-level BPE tokenizer with merges from the training texts: frequent words are one token."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    # Words keep their punctuation: "B." is one token, right before its option, which is what a small model can bind.
    words = pre_tokenizers.Split(Regex(r" ?\S+|\s"), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<pad>", "</s>", "<image>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        extra_special_tokens={"image_token": "<image>"},
        padding_side="left",
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )


def build_processor(tokenizer: "PreTrainedTokenizerFast") -> "LlavaProcessor":
    """The processor: it resizes the shorter side to `IMAGE_SIZE` and crops the middle square."""
    from transformers import LlavaProcessor
    from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil

    image_processor = LlavaImageProcessorPil(
        size={"shortest_edge": IMAGE_SIZE},
        crop_size={"height": IMAGE_SIZE, "width": IMAGE_SIZE},
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.25, 0.25, 0.25],
    )
    return LlavaProcessor(
        image_processor=image_processor,
        tokenizer=tokenizer,
        patch_size=PATCH_SIZE,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=1,
        chat_template=CHAT_TEMPLATE,
    )


def build_model(tokenizer: "PreTrainedTokenizerFast") -> "LlavaForConditionalGeneration":
    """The untrained model, from torch's current random state."""
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    vision = CLIPVisionConfig(
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=VISION_LAYERS,
        num_attention_heads=HEADS,
        image_size=IMAGE_SIZE,
        patch_size=PATCH_SIZE,
        initializer_range=INITIALIZER_RANGE,
    )
    text = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        intermediate_size=256,
        num_hidden_layers=TEXT_LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=CONTEXT,
        initializer_range=INITIALIZER_RANGE,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=IMAGE_TOKENS,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlavaForConditionalGeneration(config)
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    return model
