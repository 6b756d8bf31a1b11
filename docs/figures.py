"""Makes the figures of the site small: output/studies/*.png to docs/figures/, in greys, each below 60 kB.

    python docs/figures.py [FOLDER]

Run it after `make studies`; not part of the site.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

LIMIT = 60_000
GREYS = 8
TO = Path(__file__).parent / "figures"


def small(picture: Path) -> bytes:
    """The picture as a PNG of eight greys, as wide as fits within the limit."""
    from PIL import Image

    image = Image.open(picture).convert("L")
    steps = [round(value * (GREYS - 1) / 255) for value in range(256)]
    for width in range(min(image.width, 1400), 500, -50):
        shape = (width, round(image.height * width / image.width))
        levels = image.resize(shape, Image.Resampling.LANCZOS).point(steps)
        greys = Image.frombytes("P", shape, levels.tobytes())
        greys.putpalette([value for level in range(GREYS) for value in [round(level * 255 / (GREYS - 1))] * 3])
        found = io.BytesIO()
        greys.save(found, "PNG", optimize=True, bits=4)
        if found.tell() < LIMIT:
            return found.getvalue()
    raise ValueError(f"{picture.name} does not fit into {LIMIT} bytes.")


def main(folder: Path) -> None:
    """All pictures of a folder."""
    TO.mkdir(exist_ok=True)
    for picture in sorted(folder.glob("*.png")):
        made = small(picture)
        (TO / picture.name).write_bytes(made)
        print(f"{TO.name}/{picture.name}: {len(made) / 1000:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("output") / "studies")
