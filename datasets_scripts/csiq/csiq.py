"""CSIQ (Larson and Chandler, JEI 2010): 30 pristine images with six distortions at up to five levels, 866 images.

`released_score` is CSIQ's DMOS from 0 (no difference) to 1 (worst), and `quality` is 1 - DMOS; only the `mos` of an
`image,mos` CSV is read as higher is better. The workbook `csiq.DMOS.xlsx` has the parts of an image's name in columns,
where one of the references is the number 1600.
"""

from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row
from eyechart.datasets_scripts.common.quality.database import QualityBuilder
from eyechart.datasets_scripts.common.quality.score_file_formats import FORMAT

_FILE_TYPES = {"noise": "AWGN", "jpeg": "JPEG", "jpeg 2000": "jpeg2000", "blur": "BLUR"}


class Csiq(QualityBuilder):
    """Loads CSIQ from its workbook or from a list; `quality` is turned to higher is better."""

    def _read(self, path: str) -> list[Row]:
        rows = super()._read(path)
        for _, raw in rows:
            if "dst_type" in raw and not self._facts(str(raw[raw[FORMAT].image])):
                cells = [raw[raw[FORMAT].image], raw["dst_type"], raw.get("dst_lev")]
                if None in cells:
                    raw[ROW_ERROR] = f"reference, dst_type and dst_lev must not be empty, found {cells}"
                    continue
                # The reference 1600 and the levels are numbers.
                reference, kind, level = (f"{cell:g}" if isinstance(cell, int | float) else cell for cell in cells)
                raw[raw[FORMAT].image] = f"{reference.lower()}.{_FILE_TYPES.get(kind, kind)}.{level}.png"
        return rows
