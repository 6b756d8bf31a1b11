"""Save what this version writes, once per release: `python tests/saved/make.py`, into a folder of its version.

The folder stays as it is from then on: later versions must read it (`test_saved.py`).
"""

import json
import lzma
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import work

import discreet
from discreet import Ledger
from discreet.models.saving import save


def main():
    warnings.simplefilter("ignore")
    home = Path(__file__).parent / discreet.__version__
    home.mkdir()
    answers = {"predictions": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for called, model in work.fitted().items():
            save(model, folder / f"{called}.json")
            answers["predictions"][called] = work.predictions(model)
        model, encoder = work.encoded()
        save(model, folder / "encoded.json", encoder, "ill")
        ledger = Ledger.open(folder / "account.ledger", work.ACCOUNT, data="people")
        answers["asked"] = work.ask(ledger)
        work.fail(ledger)
        answers["spent"] = ledger.spent
        answers["pseudonym"] = work.vault(folder)
        for path in sorted(folder.iterdir()):
            (home / f"{path.name}.xz").write_bytes(lzma.compress(path.read_bytes()))
    (home / "answers.json").write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
