"""The table of all image quality databases: where they come from, their files, and what their file names say."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from eyechart.datasets_scripts.common.quality.score_file_formats import ScoreFormat


@dataclass(frozen=True)
class Database:
    """One image quality database."""

    homepage: str
    license: str
    to_download: str
    """From the homepage, to get it by hand."""
    formats: tuple[ScoreFormat, ...] = ()
    """Its own formats of score files, the preferred one first."""
    worst: float | None = None
    """The worst score if lower is better on its scale; None if higher is better."""
    score_files: tuple[str, ...] = ("mos.csv",)
    """Score files inside the release, the preferred one first; those joined by "+" are one file."""
    folders: tuple[str, ...] = ("", "images")
    """Folders inside the release, or inside its archive, that may contain the images, the preferred one first."""
    archives: tuple[str, ...] = ()
    """Image archives inside the release, unpacked if no folder contains images."""
    downloads: Mapping[str, str] = field(default_factory=dict)
    """Addresses of the files: "images", an archive; "scores", a file, unless the archive contains it."""
    names: str = ""
    """Expression of an image's name without its folder, with groups named after columns."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Readable names of the distortion types in image names."""


# Copies on the Hub, formerly in chaofengc/IQA-Toolbox-Datasets, at the commits that added them. The folders inside are
# those that https://github.com/chaofengc/IQA-PyTorch reads (pyiqa/default_dataset_configs.yml, scripts/process_*.py).
# The scores are pinned lists of the authors or of Q-Bench, which have the official scores.
_COPIES = "https://huggingface.co/datasets/chaofengc/IQA-PyTorch-Datasets/resolve"
_RAW = "https://raw.githubusercontent.com"
_Q_BENCH = f"{_RAW}/Q-Future/Q-Bench/f19783ea1890212794ab220c90c7f71342a6289b/a3_iqa_databases/jsons"
_MMSP = "https://datasets.vqa.mmsp-kn.de/archives"
_SCORED = (
    "the 100 images that the 2AFC authors scored (https://github.com/h4nwei/2AFC-LMMs: data/{0}, with the scores {0!r} "
    "in data/Coarse_grained_mixed.json, to be written to mos.csv with the columns image,mos), or images to be scored"
)
_CSIQ_TYPES = {
    "AWGN": "white noise",
    "JPEG": "JPEG compression",
    "jpeg2000": "JPEG2000 compression",
    "fnoise": "pink noise",
    "BLUR": "Gaussian blur",
    "contrast": "contrast decrement",
}
_CSIQ = dict.fromkeys(name for code in _CSIQ_TYPES for name in (code.lower(), code))
KADID_DISTORTIONS = (
    *("Gaussian blur", "lens blur", "motion blur", "color diffusion", "color shift", "color quantization"),
    *("color saturation 1", "color saturation 2", "JPEG2000 compression", "JPEG compression", "white noise"),
    *("white noise in color component", "impulse noise", "multiplicative noise", "denoise", "brighten", "darken"),
    *("mean shift", "jitter", "non-eccentricity patch", "pixelate", "quantization", "color block", "high sharpen"),
    "contrast change",
)
"""Types 1 to 25 of KADID-10k and KADIS-700k, see https://database.mmsp-kn.de/kadid-10k-database.html."""
_KADID_NAMES = r"(?P<reference>.+)_(?P<distortion_type>0[1-9]|1\d|2[0-5])_0(?P<distortion_level>[1-5])\.[^.]+"
_KADID_TYPES = {f"{code:02}": name for code, name in enumerate(KADID_DISTORTIONS, 1)}
_KONIQ_RATINGS = ("c1", "c2", "c3", "c4", "c5")
_SPAQ = "MOS and Image attribute scores.xlsx"

DATABASES: Mapping[str, Database] = {
    "agiqa3k": Database(
        "https://github.com/lcysyzxdxc/AGIQA-3k-Database",
        "mit",
        "data.csv, and the images through the links",
        formats=(ScoreFormat("name", "mos_quality", "std_quality"),),
        score_files=("data.csv", "agi.json", "mos.csv"),
        folders=("database", "", "images", "AGIQA-3K"),
    ),
    "cgiqa6k": Database(
        "https://github.com/zzc-1998/CGIQA6K",
        "not stated",
        "CGIQA-6K through the OneDrive link",
        formats=(ScoreFormat("Image", "MOS"),),
        score_files=("mos.csv", "cgi.json"),
        folders=("database", "", "images"),
        names="(?P<subset>game|movie)_.*",
    ),
    "csiq": Database(
        "https://s2.smu.edu/~eclarson/csiq.html",
        "not stated",
        "csiq.DMOS.xlsx and dst_imgs.zip",
        formats=(
            ScoreFormat("image", "dmos", "dmos_std", sheet="all_by_image", header_row=4),
            ScoreFormat("image", "dmos"),
        ),
        worst=1,
        score_files=("csiq.DMOS.xlsx", "csiq.json", "mos.csv"),
        folders=(
            *("dst_imgs", "dst_imgs_all", "", "images"),
            *(f"{top}{name}" for top in ("dst_imgs/", "") for name in _CSIQ),
        ),
        archives=("dst_imgs.zip",),
        downloads={
            "scores": "https://s2.smu.edu/~eclarson/csiq/csiq.DMOS.xlsx",
            "images": "https://s2.smu.edu/~eclarson/csiq/dst_imgs.zip",
        },
        names=r"(?P<reference>[^.]+)\.(?P<distortion_type>[^.]+)\.(?P<distortion_level>\d)\.[^.]+",
        types=_CSIQ_TYPES,
    ),
    "kadid10k": Database(
        "https://database.mmsp-kn.de/kadid-10k-database.html",
        "free for research",
        "kadid10k.zip",
        formats=(ScoreFormat("dist_img", "dmos", "var"),),
        score_files=("dmos.csv", "kadid10k/dmos.csv", "kadid.json", "mos.csv"),
        folders=("images", "kadid10k/images", ""),
        downloads={"images": f"{_MMSP}/kadid10k.zip"},
        names=_KADID_NAMES,
        types=_KADID_TYPES,
    ),
    "kadis700k": Database(
        "https://database.mmsp-kn.de/kadid-10k-database.html",
        "free for research",
        _SCORED.format("kadis700k"),
        names=_KADID_NAMES,
        types=_KADID_TYPES,
    ),
    "koniq10k": Database(
        "https://database.mmsp-kn.de/koniq-10k-database.html",
        "mit (scores); the photographs keep the licences of their authors",
        "koniq10k_distributions_sets.csv from https://github.com/subpic/koniq, and koniq10k_1024x768.zip",
        formats=(
            ScoreFormat("image_name", "MOS_zscore", "SD", _KONIQ_RATINGS),
            ScoreFormat("image_name", "MOS", "SD", _KONIQ_RATINGS),
            ScoreFormat("image_name", "MOS"),
        ),
        score_files=(
            "koniq10k_distributions_sets.csv",
            "koniq10k_scores_and_distributions.csv",
            "koniq10k_scores_and_distributions/koniq10k_scores_and_distributions.csv",
            *("koniq.json", "mos.csv"),
        ),
        folders=("1024x768", "koniq10k_1024x768", "512x384", "koniq10k_512x384", "", "images"),
        archives=("koniq10k_1024x768.zip", "koniq10k_512x384.zip"),
        downloads={
            "scores": f"{_RAW}/subpic/koniq/1c271570ac83aeb6aa8e7ff25449f3299b0d2e53/metadata/"
            "koniq10k_distributions_sets.csv",
            "images": f"{_MMSP}/koniq10k_1024x768.zip",
        },
    ),
    "live_fb": Database(
        "https://github.com/niu-haoran/FLIVE_Database",
        "cc-by-nc-sa-4.0 (scores); the photographs keep the terms of their datasets",
        "the repository with database_prep.ipynb, a notebook to be run that collects the images,",
        formats=(ScoreFormat("name", "mos"),),
        score_files=("database/labels_image.csv", "labels_image.csv", "flive.json", "mos.csv"),
        folders=("database", "", "images", "FLIVE_Database/database"),
        archives=("flive.tgz",),
        downloads={
            "scores": f"{_RAW}/niu-haoran/FLIVE_Database/00415bbbefa1c8ade7c353df69d8d667795e164b/database/"
            "labels_image.csv",
            "images": f"{_COPIES}/1e79c0cc3f65696429765193be32eb1e9510b49f/flive.tgz",
        },
    ),
    "live_itw": Database(
        "https://live.ece.utexas.edu/research/ChallengeDB/index.html",
        "free use with the copyright notice of The University of Texas at Austin",
        "ChallengeDB_release on request",
        score_files=("Data/AllImages_release.mat", "AllImages_release.mat", "livec.json", "mos.csv"),
        folders=("Images", "Images/trainingImages", "", "images", "LIVEC/Images", "LIVEC/Images/trainingImages"),
        archives=("live_challenge.tgz",),
        downloads={
            "scores": f"{_Q_BENCH}/livec.json",
            "images": f"{_COPIES}/e198fc3981f8f4fb2909fb53ce1a9638aef3deaf/live_challenge.tgz",
        },
    ),
    "mm21": Database(
        "https://github.com/sherlockyy/LICQA",
        "not stated",
        "train_files/, and the images through the links",
        formats=(ScoreFormat(all_columns=("reference", "image", "bitrate", "mos")),),
        score_files=(
            *(f"{folder}train.csv+{folder}val.csv+{folder}test.csv" for folder in ("train_files/exp1/", "exp1/", "")),
            "mos.csv",
        ),
    ),
    "spaq": Database(
        "https://github.com/h4nwei/SPAQ",
        "not stated",
        "SPAQ through the links to Baidu Yun or Google Drive",
        formats=(ScoreFormat("Image name", "MOS", sheet=""),),
        score_files=(f"Annotations/{_SPAQ}", _SPAQ, "spaq.json", "mos.csv"),
        folders=("TestImage", "TestImage_512", "", "images", "SPAQ/TestImage"),
        archives=("spaq.tgz",),
        downloads={
            "scores": f"{_Q_BENCH}/spaq.json",
            "images": f"{_COPIES}/38ae5dc5019b596e953a6f80f7fcf6b009625766/spaq.tgz",
        },
    ),
    "sqad": Database(
        "https://github.com/aiff22/SQAD",
        "not stated",
        _SCORED.format("SQAD"),
        folders=("", "SQAD", "sqad", "images"),
        archives=("sqad.zip",),
    ),
}
"""Every image quality database, by the name of its dataset."""
