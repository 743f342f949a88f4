"""Writing synthetic demo data of image quality databases, each in its database's real layout, see `LAYOUTS`."""

from pathlib import Path

from PIL import Image

from eyechart.datasets_scripts.mini.layouts import LAYOUTS, Scored
from eyechart.datasets_scripts.mini.shots import scene_of, shots_of


def write(name: str, folder: Path) -> None:
    """Write a database's synthetic demo data into `folder`."""
    layout = LAYOUTS[name]
    scenes = {content: scene_of(layout.stream, content).image for content in range(1, layout.contents + 1)}
    scored = release_shots(name)
    for image_name, shot in scored:
        _save(shot.draw(scenes[shot.content]), folder / layout.folder(shot) / image_name)
    if layout.pristine is not None:
        for content, scene in scenes.items():
            _save(scene, folder / layout.pristine(content))
    layout.write_scores(folder, scored)


def release_shots(name: str) -> Scored:
    """Return the image names of a database's demo data, as in its score file, with their shots."""
    layout = LAYOUTS[name]
    return [(layout.name(shot), shot) for shot in shots_of(layout.stream, layout.contents) if layout.holds(shot)]


def _save(image: Image.Image, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jpg":
        # At this image size, JPEG's default settings would be a visible distortion.
        image.save(path, quality=95, subsampling="4:4:4")
    else:
        image.save(path)
