"""Text to score: a regressor turns the description of an image into a quality score.

AesBench, Sec. 3.3 (https://arxiv.org/abs/2401.08276), compares models that give descriptions instead of scores with
expert scores "via a BERT-based regressor". The paper's settings are not public; the defaults here are the fine-tuning
settings of the BERT paper (https://arxiv.org/abs/1810.04805, Appendix A.3), and every result records them. Any encoder
that transformers supports for sequence classification can be trained, with its `Trainer`, on (description, score)
pairs.

`training.train` returns a `regressor.TextToScore`, which can be saved, loaded and applied to other descriptions;
`validation.cross_validate` measures how well it predicts the scores of unseen images.

The question of `aes_bench/interpretation` states the true aesthetic level. Scores predicted from its answers measure
how closely the model follows the stated level, not what it sees in the image.
"""
