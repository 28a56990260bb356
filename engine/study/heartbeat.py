"""A process tells its study that it is alive; others see whose trials are left behind."""

from __future__ import annotations

import time
from datetime import datetime

from optuna.storages import BaseStorage, InMemoryStorage
from optuna.trial import FrozenTrial

from engine.study.attributes import all_attributes
from engine.study.owner import BEAT_S, Owner

__all__ = ["Heartbeat"]


class Heartbeat:
    """Of this process, in one study.

    Args:
        storage: the storage that holds the study.
        study_id: the storage's id of it.
        owner: this process.
    """

    def __init__(self, storage: BaseStorage, study_id: int, owner: Owner) -> None:
        self._storage = storage
        self._study_id = study_id
        self._owner = owner
        self._next_s = 0.0

    def beat(self) -> bool:
        """Tell that this process is alive, once a minute; whether it did."""
        now_s = time.monotonic()
        if now_s < self._next_s or isinstance(self._storage, InMemoryStorage):
            return False
        self._next_s = now_s + BEAT_S
        self._storage.set_study_system_attr(self._study_id, self._owner.heartbeat, time.time())
        return True

    def has_stopped_for(self, trial: FrozenTrial) -> bool:
        """Whether the process that runs a trial can no longer finish it."""
        owner = Owner.from_json(all_attributes(trial).get("owner"))
        if owner is None:
            return False
        age = datetime.now() - (trial.datetime_start or datetime.min)
        beat_s = self._storage.get_study_system_attrs(self._study_id).get(owner.heartbeat)
        silent_s = time.time() - beat_s if isinstance(beat_s, int | float) else None
        return owner.is_dead(age, silent_s)
