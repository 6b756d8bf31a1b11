"""Many processes on one vault, some of them killed: run by test_concurrency.py as a program of its own.

    hammer.py PLACE KEY FOLDER CHILDREN SECONDS KILL ENOUGH

Each child writes a line to its file in FOLDER after the vault has acknowledged what the line says; they go on until
there are ENOUGH bytes of them. The imports are done
once; children are forked before anything else happens.
"""

import importlib
import os
import random
import signal
import sys
import time

import numpy as np

from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.vault import Vault

PEOPLE = 400  # few enough that the children meet


def tags(numbers):
    return np.array([[number >> 8, number & 255, *([7] * 14)] for number in numbers], np.uint8)


def work(place, key, path, seed):
    chance = random.Random(seed)
    with open(path, "a", buffering=1) as file, Vault.open(place, key_file=key) as vault:
        version = vault.version("research")
        while True:
            numbers = sorted(chance.sample(range(PEOPLE), 25))
            mark = vault.mark()
            ids = vault.people.ids_of(tags(numbers), vault.suppression.known)
            for number, id in zip(numbers, ids, strict=True):
                file.write(f"person {number} {id.tobytes().hex()}\n")
            try:
                run = vault.record("pseudonymise", table=f"t{seed}", version=version, mark=mark, ids=ids, rows=25)
            except VaultError as error:
                if "erased while" in str(error):
                    continue  # as it should be: the table is made again
                raise
            file.write(f"run {run.uid} {','.join(map(str, numbers))}\n")
            assert vault.uses.has(run.uid, ids).all()
            if chance.random() < 0.2:
                vault.find({"ssn": "1"})
                vault.verify()


def child(place, key, folder, seed):
    pid = os.fork()
    if pid:
        return pid
    try:
        work(place, key, os.path.join(folder, f"{seed}.txt"), seed)
    except BaseException as error:
        with open(os.path.join(folder, f"{seed}.error"), "w") as file:
            file.write(f"{type(error).__name__}: {error}")
    os._exit(1)


def said(folder):
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".txt"))


def main(place, key, folder, children, seconds, kill, enough):
    if place.startswith("postgresql"):
        importlib.import_module("sqlalchemy.dialects.postgresql.psycopg")  # once, not in every child
    chance, start, seed = random.Random(0), time.monotonic(), 0
    running = []
    while time.monotonic() < start + float(seconds) or (said(folder) < int(enough) and time.monotonic() < start + 120):
        while len(running) < int(children):
            running.append(child(place, key, folder, seed))
            seed += 1
        time.sleep(chance.uniform(0.02, 0.4))
        if kill == "kill":
            victim = running.pop(chance.randrange(len(running)))
            os.kill(victim, signal.SIGKILL)
            os.waitpid(victim, 0)
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    print(seed)


if __name__ == "__main__":
    main(*sys.argv[1:])
