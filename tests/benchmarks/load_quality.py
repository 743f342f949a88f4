"""Time and memory of loading 10,000 rows of an image quality database without touching a pixel.

Run it as a script. The rows are made up: KonIQ-10k in its CSV (once the split `test` alone, once with the official
splits, which doubles the rows) and SPAQ in its workbook, each with 10,000 tiny JPEG files. Every load is one process of
its own with an empty cache; the shortest of some is shown. The aims are 3 s and 500 MB.
"""

import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

ROWS = 10_000
REPEATS = 3


def write_koniq(folder: Path) -> list[str]:
    """Write the score file of KonIQ-10k and return the images' paths."""
    lines = ["image_name,c1,c2,c3,c4,c5,c_total,MOS,SD,set"]
    for number in range(ROWS):
        part = ("training", "validation", "test")[number % 3]
        lines.append(f"{number}.jpg,0.0,0.01,0.238095238095,0.695238095238,0.0567,105,{number / 150},0.52,{part}")
    (folder / "koniq10k_distributions_sets.csv").write_text("\n".join(lines), encoding="utf-8")
    return [f"1024x768/{number}.jpg" for number in range(ROWS)]


def write_spaq(folder: Path) -> list[str]:
    """Write the workbook of SPAQ and return the images' paths."""
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    table = book.create_sheet()
    table.append(["Image name", "MOS", "Brightness", "Colorfulness", "Contrast", "Noisiness", "Sharpness"])
    for number in range(ROWS):
        table.append([f"{number:05d}.jpg", number / 110, 50.5, 51.5, 52.5, 53.5, 54.5])
    (folder / "Annotations").mkdir()
    book.save(folder / "Annotations" / "MOS and Image attribute scores.xlsx")
    return [f"TestImage/{number:05d}.jpg" for number in range(ROWS)]


LOADS = {
    "koniq10k, test": ("koniq10k", "test", write_koniq),
    "koniq10k, all splits": ("koniq10k", None, write_koniq),
    "spaq (XLSX)": ("spaq", "test", write_spaq),
}


def load(name: str, split: str, folder: str, cache: str) -> None:
    """Load once and print what it took as JSON; runs in a process of its own."""
    import datasets

    from eyechart.datasets_scripts import load_dataset

    datasets.disable_progress_bars()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    starts = time.process_time(), time.perf_counter()
    loaded = load_dataset(name, split=split or None, data_dir=folder, cache_dir=cache)
    took = {"processor": time.process_time() - starts[0], "elapsed": time.perf_counter() - starts[1]}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    parts = [loaded] if split else list(loaded.values())
    assert len(parts[0]) == ROWS and parts[0][-1]["image"].size == (8, 8)
    print(json.dumps({**took, "before": before / 1024, "peak": peak / 1024}))


def main() -> None:
    """Print the time and memory of every load."""
    print(f"load average over one minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {ROWS:,} rows a split")
    print(f"{'':22} {'processor':>10} {'elapsed':>9} {'peak':>9} {'of which imports':>17}")
    Image.new("RGB", (8, 8), (90, 120, 60)).save(stream := io.BytesIO(), "JPEG")
    for label, (name, split, write) in LOADS.items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "release"
            folder.mkdir()
            for image in write(folder):
                (folder / image).parent.mkdir(exist_ok=True)
                (folder / image).write_bytes(stream.getvalue())
            runs = []
            for repeat in range(REPEATS):
                arguments = [sys.executable, __file__, name, split or "", str(folder), f"{temporary}/{repeat}"]
                runs.append(json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout))
        best = {key: min(run[key] for run in runs) for key in runs[0]}
        print(
            f"{label:22} {best['processor']:8.2f} s {best['elapsed']:7.2f} s "
            f"{best['peak']:6.0f} MB {best['before']:14.0f} MB"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        load(*sys.argv[1:])
    else:
        main()
