"""Optuna studies: opened or gone on with, in memory, a file or a database, and never mixed up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from mbndt.errors import OptionError, shown

FACTS = "mbndt"
JOURNAL = b'{"op_code"'


@contextmanager
def opened(storage: str | None, name: str, seed: int, facts: dict[str, Any]) -> Iterator[Study]:
    """Give the study of a name in a file, at an Optuna URL, or in memory, with Optuna silent.

    Raises `OptionError` where the storage fails, or the study was made for other `facts`.
    """
    with _quiet():
        with _telling(storage, Exception):  # whatever the driver of a database raises
            study = _study(storage, name, seed)
            known = _claimed(study, facts)
        for fact, expected in facts.items():
            if known.get(fact) != expected:
                raise OptionError(
                    f"study: {shown(name)} was made for {fact}"
                    f" {shown(known.get(fact))}, not {shown(expected)};"
                    " another `study` starts anew"
                )
        with _telling(storage, optuna.exceptions.OptunaError, OSError):
            yield study


def completed(study: Study) -> list[FrozenTrial]:
    """Return the trials that came to a score."""
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


@contextmanager
def _quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


@contextmanager
def _telling(storage: str | None, *kinds: type[Exception]) -> Iterator[None]:
    """Tell in one line of a storage that fails."""
    try:
        yield
    except kinds as error:
        place = (storage or "memory").partition("://")[0]  # a URL may hold a password
        said = str(error).strip().partition("\n")[0] or type(error).__name__
        raise OptionError(f"storage: {place}: {said}") from None


def _study(storage: str | None, name: str, seed: int) -> Study:
    place: JournalStorage | str | None = storage
    if storage and "://" not in storage:
        if Path(storage).exists():
            with Path(storage).open("rb") as file:
                # A file of another kind may look like an empty journal, and would be appended to.
                if file.read(len(JOURNAL)) not in (b"", JOURNAL):
                    raise ValueError("expected a study's file or a URL")
        place = JournalStorage(JournalFileBackend(storage, JournalFileOpenLock(storage)))
    return optuna.create_study(
        storage=place,
        sampler=_Sampler(seed),
        study_name=name,
        direction="maximize",
        load_if_exists=True,
    )


def _claimed(study: Study, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a study was made for; a new one is made for `facts`."""
    fresh = not study.user_attrs and not study.trials
    if fresh and study.directions == [StudyDirection.MAXIMIZE]:
        study.set_user_attr(FACTS, facts)
    known = study.user_attrs.get(FACTS)
    return known if isinstance(known, dict) else {}


class _Sampler(optuna.samplers.TPESampler):
    """TPE seeded by the trial's number.

    Processes that share a study, and a study that goes on, draw what no trial before has drawn.
    """

    def __init__(self, start: int) -> None:
        super().__init__(seed=start)
        self.start = start

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        seed = np.random.SeedSequence((self.start, trial.number)).generate_state(1)
        super().__init__(seed=int(seed[0]))
        super().before_trial(study, trial)
