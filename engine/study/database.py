"""A database on a server: it may restart, and several tuners may begin in it at once."""

from __future__ import annotations

import copy
import functools
import json
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.storages._rdb.models import TrialModel, TrialSystemAttributeModel
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.orm import Session

from foundation.errors import UserError

__all__ = ["PatientDatabase"]

PATIENCE_S = 60.0  # a server that restarts is back within seconds
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 2.0

_OPENINGS = 20  # while other processes create the same tables
_TICKET = "ticket"  # attribute of a trial, by which its maker finds it again

# It says that it falls back to a slower query where the server is gone.
logging.getLogger("optuna.storages._rdb.storage").setLevel(logging.ERROR)

_T = TypeVar("_T")


class PatientDatabase(RDBStorage):
    """A database on a server that may restart while it is used.

    A call that finds the server gone is repeated until it is back. An answer may have been lost on
    its way: a trial that was created, or finished, by a call that failed counts as such.

    Args:
        url: of the database.

    Raises:
        UserError: from any call, once the server has not answered for `PATIENCE_S`; then at once.
    """

    def __init__(self, url: str) -> None:
        self._gave_up = False
        self._last_ticket: str | None = None
        for opening in range(1, _OPENINGS + 1):
            try:
                super().__init__(url, engine_kwargs={"pool_pre_ping": True})
                return
            except (DBAPIError, StorageInternalError) as error:
                if opening == _OPENINGS or not _is_race(error):
                    raise
                time.sleep(_FIRST_PAUSE_S)

    def patiently(self, call: Callable[[], _T]) -> _T:
        """What the call returns, as soon as the server answers."""
        deadline = time.monotonic() + PATIENCE_S
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return call()
            except (DBAPIError, StorageInternalError) as error:
                if not _is_away(error):
                    raise
                if self._gave_up or time.monotonic() > deadline:
                    self._gave_up = True
                    raise self._no_answer(error) from error
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _create_new_trial(
        self, study_id: int, template_trial: FrozenTrial | None = None
    ) -> FrozenTrial:
        if template_trial is None:
            raise ValueError("a trial of the tuner has a template")
        template = copy.copy(template_trial)
        template.system_attrs = {**template.system_attrs, _TICKET: secrets.token_hex(8)}
        return self.patiently(lambda: RDBStorage._create_new_trial(self, study_id, template))

    def _get_prepared_new_trial(
        self, study_id: int, template_trial: FrozenTrial | None, session: Session
    ) -> TrialModel:
        """Called at each attempt, of which Optuna makes several: the trial of an earlier one."""
        ticket = None if template_trial is None else template_trial.system_attrs[_TICKET]
        if ticket == self._last_ticket:
            of_ticket = TrialSystemAttributeModel
            found = (
                session.query(of_ticket)
                .filter_by(key=_TICKET, value_json=json.dumps(ticket))
                .one_or_none()
            )
            if found is not None:
                return TrialModel.find_or_raise_by_id(cast(int, found.trial_id), session)
        self._last_ticket = ticket
        return super()._get_prepared_new_trial(study_id, template_trial, session)

    def set_trial_state_values(
        self, trial_id: int, state: TrialState, values: Sequence[float] | None = None
    ) -> bool:
        is_repeated = False

        def finish() -> bool:
            nonlocal is_repeated
            try:
                return RDBStorage.set_trial_state_values(self, trial_id, state, values)
            except UpdateFinishedTrialError:
                trial = RDBStorage.get_trial(self, trial_id)
                if is_repeated and (trial.state, trial.values) == (state, values and [*values]):
                    return True
                raise
            finally:
                is_repeated = True

        return self.patiently(finish)

    def _no_answer(self, error: Exception) -> UserError:
        reason = str(error.__cause__ or error).splitlines()[0]
        where = make_url(self.url).render_as_string(hide_password=True)
        return UserError(
            f"the storage {where} has not answered for {PATIENCE_S:.0f} s ({reason}): when its "
            "server is back, run the same command again to resume the study"
        )


def _patient(name: str) -> Callable[..., Any]:
    method = getattr(RDBStorage, name)

    @functools.wraps(method)
    def call(self: PatientDatabase, *arguments: Any, **options: Any) -> Any:
        return self.patiently(lambda: method(self, *arguments, **options))

    return call


# The other calls of Optuna and its cache. Each leaves the same behind if it is made twice.
for _name in (
    "create_new_study",
    "get_all_studies",
    "get_study_directions",
    "get_study_id_from_name",
    "get_study_name_from_id",
    "get_study_system_attrs",
    "get_study_user_attrs",
    "get_trial",
    "get_trial_id_from_study_id_trial_number",
    "_get_best_trial_id",
    "_get_trials",
    "set_study_system_attr",
    "set_study_user_attr",
    "set_trial_system_attr",
    "set_trial_user_attr",
):
    setattr(PatientDatabase, _name, _patient(_name))


def _is_away(error: Exception) -> bool:
    """Whether the server is gone, or too busy with others; not that it refuses what was asked."""
    cause = error.__cause__ if isinstance(error, StorageInternalError) else error
    if isinstance(cause, DBAPIError) and cause.connection_invalidated:
        return True
    return isinstance(cause, OperationalError | InterfaceError)


def _is_race(error: Exception) -> bool:
    """Whether another process has just created what this one wants to create."""
    cause = error.__cause__ if isinstance(error, StorageInternalError) else error
    return isinstance(cause, IntegrityError) or "already exists" in str(cause)
