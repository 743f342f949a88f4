"""An encoder that is small enough to be trained in a test, and the mini release's descriptions with their levels."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.evaluators.text_to_score import TrainingSettings
from eyechart.evaluators.text_to_score.regressor import train

QUALITY = {"low": 20.0, "medium": 50.0, "high": 80.0}
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


@pytest.fixture(scope="session")
def descriptions():
    """Texts and qualities of the interpretations of the mini AesBench."""
    rows = load_dataset("aesbench", "interpretation", split="test", data_dir=mini.release("aesbench"))
    return list(rows["description"]), [QUALITY[level] for level in rows["level"]]


@pytest.fixture(scope="session")
def encoder(descriptions, tmp_path_factory) -> str:
    """A folder with a BERT of one layer and a tokenizer that knows the words of the mini descriptions."""
    import torch
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder: Path = tmp_path_factory.mktemp("encoder")
    words = Tokenizer(models.WordLevel(unk_token=SPECIAL["unk_token"]))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator(descriptions[0], trainers.WordLevelTrainer(special_tokens=list(SPECIAL.values())))
    marks = [(mark, words.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    words.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    PreTrainedTokenizerFast(tokenizer_object=words, **SPECIAL).save_pretrained(folder)
    sizes = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 128}
    # Without earlier training, wide beginnings and no dropout make it learn from few texts whatever the seed.
    easy = {"initializer_range": 0.1, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig(vocab_size=words.get_vocab_size(), max_position_embeddings=64, **sizes, **easy)
        BertModel(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def settings(encoder) -> TrainingSettings:
    """Settings with which the small encoder learns the mini descriptions."""
    return TrainingSettings(encoder, epochs=10, learning_rate=3e-3, batch_size=8, max_length=64, cpu_only=True)


@pytest.fixture(scope="session")
def regressor(descriptions, settings):
    """A regressor that was trained on all mini descriptions."""
    return train(*descriptions, settings)
