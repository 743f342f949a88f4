"""The file layouts of image quality databases: file names, score files, scales and directions.

`LAYOUTS` defines for every database the number of scenes of its demo data, the path of a shot's image and the format of
its scores.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eyechart.datasets_scripts.mini.score_files import write_csv, write_mat, write_xlsx
from eyechart.datasets_scripts.mini.shots import TYPE_CODES, Shot, scene_of

Scored = Sequence[tuple[str, Shot]]
"""Image names as in the score file, with their shots."""


@dataclass(frozen=True)
class Layout:
    """The file layout of one database."""

    stream: int
    """Number that seeds its scenes and scores."""
    contents: int
    """Number of scenes."""
    name: Callable[[Shot], str]
    """A shot's image name in the score file."""
    write_scores: Callable[[Path, Scored], None]
    """Writes the score file or files."""
    folder: Callable[[Shot], str] = lambda shot: ""
    """Folder inside the release to which the image name is relative."""
    holds: Callable[[Shot], bool] = lambda shot: True
    """Whether a shot is part of the release."""
    pristine: Callable[[int], str] | None = None
    """Path of the pristine image of a content, if the database includes them."""


def _digits(shot: Shot) -> str:
    return f"{shot.content}{shot.code:02d}{shot.level:02d}"


def _rescale(score: float, low: float, high: float) -> float:
    return low + (high - low) * score / 100


def _plain(folder: Path, scored: Scored) -> None:
    write_csv(folder / "mos.csv", [("image", "mos"), *((name, f"{shot.score:.4f}") for name, shot in scored)])


def _koniq(folder: Path, scored: Scored) -> None:
    sets = ("training", "validation", "test")
    rows = []
    for name, shot in scored:
        opinions = _rescale(shot.score, 1, 5) + 0.6 * shot.rng().standard_normal(100)
        ratings = np.clip(np.rint(opinions), 1, 5)
        shares = [float(np.mean(ratings == rating)) for rating in range(1, 6)]
        mos = _rescale(shot.score, 4, 89)
        rows.append((name, *shares, len(ratings), mos, float(np.std(ratings, ddof=1)), sets[shot.content - 1]))
    header = ("image_name", "c1", "c2", "c3", "c4", "c5", "c_total", "MOS", "SD", "set")
    write_csv(folder / "koniq10k_distributions_sets.csv", [header, *rows])


def _spaq(folder: Path, scored: Scored) -> None:
    header = ("Image name", "MOS", "Brightness", "Colorfulness", "Contrast", "Noisiness", "Sharpness")
    rows = [(name, round(shot.score, 2), *(round(shot.score, 2) for _ in header[2:])) for name, shot in scored]
    write_xlsx(folder / "Annotations" / "MOS and Image attribute scores.xlsx", "Sheet1", [header, *rows])


def _live_fb(folder: Path, scored: Scored) -> None:
    rows = [(name, _rescale(shot.score, 0, 94)) for name, shot in scored]
    write_csv(folder / "database" / "labels_image.csv", [("name", "mos"), *rows], "\r\n")


def _live_itw(folder: Path, scored: Scored) -> None:
    # The images used to train the raters come first, as in the release.
    ordered = sorted(scored, key=lambda item: _is_training(item[1]), reverse=True)
    names = np.empty((len(ordered), 1), object)
    names[:, 0] = [name for name, _ in ordered]
    scores = np.array([[_rescale(shot.score, 0, 93) for _, shot in ordered]])
    stds = np.array([[shot.rng().uniform(10, 25) for _, shot in ordered]])
    for variable, values in (("AllImages", names), ("AllMOS", scores), ("AllStdDev", stds)):
        write_mat(folder / "Data" / f"{variable}_release.mat", {f"{variable}_release": values})


def _is_training(shot: Shot) -> bool:
    return shot.content == _TRAINING_CONTENT


def _live_itw_name(shot: Shot) -> str:
    return f"t{list(TYPE_CODES).index(shot.distortion) + 1}.bmp" if _is_training(shot) else f"{_digits(shot)}.bmp"


def _cgiqa_name(shot: Shot) -> str:
    part, first = ("game", 1) if shot.content <= 2 else ("movie", 3)
    return f"{part}_{50 * (shot.content - first) + shot.number:04d}.jpg"


def _cgiqa(folder: Path, scored: Scored) -> None:
    rows = [(name, f"{_rescale(shot.score, 0, 5):.2f} ") for name, shot in scored]
    write_csv(folder / "mos.csv", [("Image", "MOS"), *rows])


def _agiqa(folder: Path, scored: Scored) -> None:
    header = ["name", "prompt", "adj1", "adj2", "style", "mos_quality", "std_quality", "mos_align", "std_align"]
    rows = []
    for name, shot in scored:
        scene = scene_of(shot.seed[1], shot.content)
        std = shot.rng().uniform(0.3, 0.9)
        prompt = f"{scene.size} {scene.color} {scene.shape}"
        rows.append((name, prompt, "", "", "abstract style", _rescale(shot.score, 0, 5), std, 2.5, 0.7))
    write_csv(folder / "data.csv", [header, *rows], "\r\n")


def _kadid(folder: Path, scored: Scored) -> None:
    rows = [
        (name, f"I{shot.content:02d}.png", f"{_rescale(shot.score, 1, 5):.2f}", f"{shot.rng().uniform(0.4, 1):.3f}")
        for name, shot in scored
    ]
    write_csv(folder / "dmos.csv", [("dist_img", "ref_img", "dmos", "var"), *rows])


_CSIQ_TYPES = {
    "white noise": ("AWGN", "noise"),
    "JPEG compression": ("JPEG", "jpeg"),
    "blur": ("BLUR", "blur"),
    "low contrast": ("contrast", "contrast"),
}
"""Types that CSIQ has too, with their names in file names and in the sheet."""


def _csiq_reference(content: int) -> str | int:
    # One of CSIQ's references is a number in the sheet.
    return 1600 if content == 1 else f"mini{content}"


def _csiq_type(shot: Shot) -> tuple[str, str]:
    other = shot.distortion.replace(" ", "_")
    return _CSIQ_TYPES.get(shot.distortion, (other, other))


def _csiq(folder: Path, scored: Scored) -> None:
    rows = []
    for _, shot in scored:
        index = list(TYPE_CODES).index(shot.distortion) + 1
        dmos = 1 - shot.score / 100
        kind = (_csiq_reference(shot.content), index, _csiq_type(shot)[1], shot.level)
        rows.append((None, None, None, *kind, float(shot.rng().uniform(0.02, 0.15)), dmos))
    header = (None, None, None, "image", "dst_idx", "dst_type", "dst_lev", "dmos_std", "dmos")
    write_xlsx(folder / "csiq.DMOS.xlsx", "all_by_image", [["CSIQ"], [], [], header, *rows])


_CODECS = {
    "blur": "FactMSE",
    "motion blur": "HyperMSE",
    "desaturation": "HierarchMSE",
    "JPEG compression": "JPEG",
    "white noise": "HierarchMSIM",
    "salt-and-pepper noise": "CAEntropyMSIM",
    "over-exposure": "WebP",
    "darkening": "VVC",
    "pixelation": "FRICwRNN",
    "low contrast": "HiFiC",
}
"""The codec that each distortion replaces."""


def _mm21_rates(shot: Shot) -> int:
    return 3 if _CODECS[shot.distortion] == "HiFiC" else 4


def _mm21_name(shot: Shot) -> str:
    return f"{_CODECS[shot.distortion]}/mini-{shot.content}_{_mm21_rates(shot) + 1 - shot.level}_p1.png"


def _mm21(folder: Path, scored: Scored) -> None:
    for part, contents in (("train", (1, 2)), ("val", (3,)), ("test", (4,))):
        rows = [
            (f"source/mini-{shot.content}_p1.png", name, f"{1.6 / 2**shot.level:.3f}", f"{shot.score:.3f}")
            for name, shot in scored
            if shot.content in contents
        ]
        write_csv(folder / "train_files" / "exp1" / f"{part}.csv", rows)


_TRAINING_CONTENT = 4
_GENERATORS = ("AttnGAN", "glide", "midjourney")

LAYOUTS = {
    "agiqa3k": Layout(
        stream=20,
        contents=3,
        name=lambda shot: f"{_GENERATORS[shot.content - 1]}_normal_{shot.number:03d}.jpg",
        folder=lambda _: "images",
        write_scores=_agiqa,
    ),
    "cgiqa6k": Layout(stream=21, contents=4, name=_cgiqa_name, folder=lambda _: "database", write_scores=_cgiqa),
    "csiq": Layout(
        stream=22,
        contents=3,
        name=lambda shot: f"{_csiq_reference(shot.content)}.{_csiq_type(shot)[0]}.{shot.level}.png",
        # Types that CSIQ does not have are next to the folders of those that it has.
        folder=lambda shot: f"dst_imgs/{_csiq_type(shot)[0].lower() if shot.distortion in _CSIQ_TYPES else ''}",
        write_scores=_csiq,
        pristine=lambda content: f"src_imgs/{_csiq_reference(content)}.png",
    ),
    "kadid10k": Layout(
        stream=23,
        contents=3,
        name=lambda shot: f"I{shot.content:02d}_{shot.code:02d}_{shot.level:02d}.png",
        folder=lambda _: "images",
        write_scores=_kadid,
        pristine=lambda content: f"images/I{content:02d}.png",
    ),
    "kadis700k": Layout(
        stream=2,
        contents=4,
        name=lambda shot: f"mini-{shot.content}_{shot.code:02d}_{shot.level:02d}.png",
        write_scores=_plain,
    ),
    "koniq10k": Layout(
        stream=24,
        contents=3,
        name=lambda shot: f"{_digits(shot)}.jpg",
        folder=lambda _: "1024x768",
        write_scores=_koniq,
    ),
    "live_fb": Layout(
        stream=25,
        contents=3,
        name=lambda shot: f"{'blur_dataset/' if shot.content == 3 else 'voc_emotic_ava/AVA__'}{_digits(shot)}.jpg",
        folder=lambda _: "database",
        write_scores=_live_fb,
    ),
    "live_itw": Layout(
        stream=26,
        contents=_TRAINING_CONTENT,
        name=_live_itw_name,
        folder=lambda shot: "Images/trainingImages" if _is_training(shot) else "Images",
        # Seven training images: the first seven types at one level.
        holds=lambda shot: not _is_training(shot) or (shot.level == 3 and shot.number < 35),
        write_scores=_live_itw,
    ),
    "mm21": Layout(
        stream=27,
        contents=4,
        name=_mm21_name,
        # As many levels as the codec has rates.
        holds=lambda shot: shot.level <= _mm21_rates(shot),
        write_scores=_mm21,
        pristine=lambda content: f"source/mini-{content}_p1.png",
    ),
    "spaq": Layout(
        stream=28,
        contents=3,
        name=lambda shot: f"{_digits(shot)}.jpg",
        folder=lambda _: "TestImage",
        write_scores=_spaq,
    ),
    "sqad": Layout(stream=29, contents=3, name=lambda shot: f"IMG_{_digits(shot)}.jpg", write_scores=_plain),
}
"""The layout of every database by the name of its dataset."""
