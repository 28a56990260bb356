"""The Gaussian process against direct computations, and what the sampler on top of it keeps to."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy import integrate
from search_helpers import SPACE, log_density, run, time_of

from engine.search import Search
from engine.search.model.acquisition import log_expected_improvement
from engine.search.model.candidates import Candidates
from engine.search.model.fit import Posterior, fit
from engine.search.model.gaussian_process import GaussianProcess, Hyperparameters, Inputs
from engine.search.model.prediction import Prediction
from engine.search.model.search_state import SearchState
from engine.search.model.targets import targets
from engine.search.samplers.bayesian import BayesianSearch
from foundation.config import Config
from search_spaces.space import Parameter, SearchSpace

# A categorical parameter, one that has a single value and so no length scale, and one whose values
# differ in the powers of two that divide them.
MIXED = Candidates(
    SearchSpace(
        (
            Parameter("BLOCK", (1, 2, 4, 8)),
            Parameter("ORDER", ("rows", "columns", "blocks")),
            Parameter("FIXED", (3,)),
            Parameter("STAGES", (1, 2, 3, 4, 5)),
        )
    )
)
LOGARITHMS = np.array([-0.3, 0.4, -0.8, 0.6, 0.2, -0.5, -3.0])
POWERS_OF_TWO = {1: 0, 2: 1, 3: 0, 4: 2, 5: 0}


def _covariance(one: Config, other: Config) -> float:
    """The kernel of the docstring, one pair of configurations at a time."""
    scales, (joint, additive) = np.exp(LOGARITHMS[:4]), np.exp(LOGARITHMS[4:6])
    apart = np.array(
        [
            abs(math.log2(float(one["BLOCK"])) - math.log2(float(other["BLOCK"]))) / 3,
            float(one["ORDER"] != other["ORDER"]),
            abs(one["STAGES"] - other["STAGES"]) / 4,
            abs(POWERS_OF_TWO[int(one["STAGES"])] - POWERS_OF_TWO[int(other["STAGES"])]) / 2,
        ]
    )

    def matern(r: float) -> float:
        return (1 + math.sqrt(5) * r + 5 * r * r / 3) * math.exp(-math.sqrt(5) * r)

    alone = [matern(2 * r) for r in apart / scales]
    return 1 + joint * matern(float(np.linalg.norm(apart / scales))) + additive * sum(alone) / 4


def _transfer_kernel(one: float, other: float) -> float:
    """The part that comes from what a transfer model expects of a pair."""
    r = math.sqrt(5) * abs(one - other)
    return 0.49 * one * other + (1 + r + r * r / 3) * math.exp(-r)


def _inputs(numbers: np.ndarray, expected: np.ndarray | None) -> Inputs:
    rows = MIXED.indicators(numbers.tolist())
    return Inputs(rows, None if expected is None else expected[numbers])


def _dense(
    numbers: np.ndarray, others: np.ndarray, expected: np.ndarray | None = None
) -> np.ndarray:
    return np.array(
        [
            [
                _covariance(MIXED.config(a), MIXED.config(b))
                + (0.0 if expected is None else _transfer_kernel(expected[a], expected[b]))
                for b in others
            ]
            for a in numbers
        ]
    )


EXPECTED = np.random.default_rng(7).normal(size=len(MIXED))
with_and_without_source = pytest.mark.parametrize(
    "expected", [None, EXPECTED], ids=["cold", "transfer"]
)


@pytest.fixture
def observed() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.choice(len(MIXED), 20, replace=False), rng.normal(size=20)


@with_and_without_source
def test_predictions_are_those_of_the_dense_formula(
    observed: tuple[np.ndarray, np.ndarray], expected: np.ndarray | None
) -> None:
    numbers, values = observed
    asked = np.arange(0, len(MIXED), 3)
    process = GaussianProcess(
        MIXED.levels,
        _inputs(numbers, expected),
        values,
        Hyperparameters.from_logarithms(LOGARITHMS),
    )
    prediction = Prediction(process, _inputs(asked, expected))
    mean, deviation = prediction.mean, prediction.deviation
    inverse = np.linalg.inv(
        _dense(numbers, numbers, expected) + (math.exp(LOGARITHMS[-1]) + 1e-6) * np.eye(20)
    )
    cross = _dense(asked, numbers, expected)
    np.testing.assert_allclose(mean, cross @ inverse @ values, rtol=1e-8, atol=1e-10)
    variance = np.diag(_dense(asked, asked, expected) - cross @ inverse @ cross.T)
    np.testing.assert_allclose(deviation, np.sqrt(variance), rtol=1e-6)


def test_a_bowl_is_a_slope_over_the_distance_from_the_middle(
    observed: tuple[np.ndarray, np.ndarray],
) -> None:
    numbers, values = observed
    asked = np.arange(0, len(MIXED), 3)
    off = MIXED.off_middle - 1
    assert off.mean() == pytest.approx(0)
    process = GaussianProcess(
        MIXED.levels,
        Inputs(MIXED.indicators(numbers.tolist()), off_middle=off[numbers]),
        values,
        Hyperparameters.from_logarithms(LOGARITHMS),
    )
    mean = process.mean(Inputs(MIXED.indicators(asked.tolist()), off_middle=off[asked]))
    noise = (math.exp(LOGARITHMS[-1]) + 1e-6) * np.eye(20)
    covariance = _dense(numbers, numbers) + np.outer(off[numbers], off[numbers])
    cross = _dense(asked, numbers) + np.outer(off[asked], off[numbers])
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(covariance + noise, values), rtol=1e-7)


@with_and_without_source
@pytest.mark.parametrize("groups", [(3,), (1, 2)], ids=["at once", "in turn"])
def test_what_is_being_tried_counts_as_its_prediction(
    observed: tuple[np.ndarray, np.ndarray], expected: np.ndarray | None, groups: tuple[int, ...]
) -> None:
    numbers, values = observed
    tried = np.setdiff1d(np.arange(len(MIXED)), numbers)[:3]
    asked = _inputs(np.arange(len(MIXED)), expected)
    hyperparameters = Hyperparameters.from_logarithms(LOGARITHMS)
    process = GaussianProcess(MIXED.levels, _inputs(numbers, expected), values, hyperparameters)
    prediction = Prediction(process, asked)
    for group in np.split(tried, np.cumsum(groups)[:-1]):
        prediction.believe(_inputs(group, expected))
    assumed = process.mean(_inputs(tried, expected))
    later = GaussianProcess(
        MIXED.levels,
        _inputs(np.concatenate([numbers, tried]), expected),
        np.concatenate([values, assumed]),
        hyperparameters,
    )
    following = Prediction(later, asked)
    np.testing.assert_allclose(prediction.mean, following.mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(prediction.deviation, following.deviation, rtol=1e-6)


def test_the_highest_score_is_exact_and_the_others_are_bounds() -> None:
    sizes = tuple(2**power for power in range(9))
    space = Candidates(SearchSpace(tuple(Parameter(name, sizes) for name in "MNK")))
    rng = np.random.default_rng(0)
    tried = rng.choice(len(space), 150, replace=False)
    values = ((space.points[tried] - 0.3) ** 2).sum(axis=1) + rng.normal(0, 0.1, len(tried))
    hyperparameters = Hyperparameters(np.array([0.6, 0.6, 0.6]), 1.0, 0.5, 1e-2)
    known = Inputs(space.indicators(tried))
    process = GaussianProcess(space.levels, known, values, hyperparameters)
    prediction = Prediction(process, Inputs(space.indicators(np.arange(len(space)))))

    def gain(places: np.ndarray, deviation: np.ndarray) -> np.ndarray:
        return log_expected_improvement(prediction.mean[places], deviation, values.min())

    found = prediction.scores(gain)
    in_full = gain(np.arange(len(space)), prediction.deviation)
    assert found.argmax() == in_full.argmax()
    assert found.max() == pytest.approx(in_full.max(), rel=1e-9)
    assert (found > in_full - 1e-6).all()
    assert (found > in_full + 1e-6).mean() > 0.5, "hardly any was left out"


@with_and_without_source
def test_the_posterior_is_likelihood_times_prior(
    observed: tuple[np.ndarray, np.ndarray], expected: np.ndarray | None
) -> None:
    """Two vectors of hyperparameters compared, so that constants fall away."""
    numbers, values = observed
    posterior = Posterior(MIXED.levels, _inputs(numbers, expected), values)
    middle = posterior.prior_mean
    noise = (math.exp(LOGARITHMS[-1]) + 1e-6) * np.eye(20)
    likelihood = log_density(values, _dense(numbers, numbers, expected) + noise)
    prior = np.diag(np.square([*MIXED.levels.scale_priors[:, 1], 0.7, 0.9, 1.5]))
    constant = 10 * math.log(2 * math.pi) - log_density(np.zeros(len(middle)), prior)
    direct = -likelihood - log_density(LOGARITHMS - middle, prior) - constant
    assert posterior(LOGARITHMS)[0] == pytest.approx(direct, rel=1e-9)


@with_and_without_source
def test_the_gradient_is_that_of_finite_differences(
    observed: tuple[np.ndarray, np.ndarray], expected: np.ndarray | None
) -> None:
    numbers, values = observed
    posterior = Posterior(MIXED.levels, _inputs(numbers, expected), values)
    step = 1e-5
    numeric = [
        (posterior(LOGARITHMS + step * e)[0] - posterior(LOGARITHMS - step * e)[0]) / (2 * step)
        for e in np.eye(len(LOGARITHMS))
    ]
    np.testing.assert_allclose(posterior(LOGARITHMS)[1], numeric, rtol=1e-5, atol=1e-6)


def test_a_fit_finds_which_parameter_matters() -> None:
    numbers = np.random.default_rng(1).choice(len(MIXED), 40, replace=False)
    values = np.array([math.sin(3 * int(MIXED.config(n)["STAGES"])) for n in numbers])
    scales = fit(MIXED.levels, _inputs(numbers, None), values / values.std()).length_scales
    assert scales[2] < 0.3 * min(scales[0], scales[1])


@pytest.mark.parametrize("best", [2.0, 0.3, -1.0, -6.0])
def test_the_expected_improvement_is_the_integral(best: float) -> None:
    mean, deviation = 0.5, 0.7
    density = NormalDist(mean, deviation).pdf
    gain, _ = integrate.quad(lambda y: (best - y) * density(y), -15, best, epsabs=0, limit=200)
    result = log_expected_improvement(np.array([mean]), np.array([deviation]), best)
    assert result[0] == pytest.approx(math.log(gain), rel=1e-6)


def test_the_expected_improvement_stays_in_order_where_it_underflows() -> None:
    means = np.concatenate([np.linspace(0, 60, 50), np.linspace(900, 1100, 50), [1e6]])
    gains = log_expected_improvement(means, np.ones_like(means), 0.0)
    assert np.isfinite(gains).all()
    assert (np.diff(gains) < 0).all()


def test_targets_draw_slow_times_together_and_count_failures_among_them() -> None:
    values = targets([1.0, 2.0, 4.0, 64.0, 1024.0, None])
    assert values.mean() == pytest.approx(0)
    assert values.std() == pytest.approx(1)
    assert values[0] < values[1] < values[2] < values[5] < values[3] < values[4]
    # The median is four times the best; by logarithms these are 1, 2, 6 and 10 from it.
    apart = (values[1:5] - values[0]) / (values[1] - values[0])
    np.testing.assert_allclose(apart, np.log1p(np.array([1, 2, 6, 10]) / 2) / np.log1p(1 / 2))
    np.testing.assert_allclose(targets([1e-6, 2e-6, 4e-6, 64e-6, 1024e-6, None]), values)


@pytest.mark.parametrize("times_s", [[], [None, None], [2.0, 2.0, 2.0]])
def test_targets_are_zero_where_there_is_nothing_to_tell_apart(
    times_s: list[float | None],
) -> None:
    assert targets(times_s).tolist() == [0.0] * len(times_s)


def test_targets_tell_a_few_slow_ones_from_many_equal_ones() -> None:
    values = targets([1.0, 1.0, 1.0, 1.0, 8.0])
    assert values[4] > values[0]


def test_the_far_tail_of_the_expected_improvement_goes_on_from_the_near_one() -> None:
    """Less the square that dominates both, they differ by twice the logarithm of 1001 / 999."""
    z = np.array([999.0, 1001.0])
    rest = log_expected_improvement(z, np.ones(2), 0.0) + z**2 / 2
    assert rest[0] - rest[1] == pytest.approx(2 * math.log(1001 / 999), rel=1e-3)


def test_one_outcome_of_many_open_proposals_is_enough() -> None:
    """The hyperparameters are then fitted to none: it is not among the first that they wait for."""
    search = Search(SPACE, "gp")
    batch = [search.ask() for _ in range(41)]
    search.tell(batch[-1], 1.0)
    assert search.ask() not in batch


def test_what_is_being_tried_keeps_the_next_proposal_away() -> None:
    candidates = Candidates(SPACE)
    moved = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        taken = [int(number) for number in rng.choice(len(candidates), 12, replace=False)]
        times_s = {number: time_of(candidates.config(number)) for number in taken}
        free = ~np.isin(np.arange(len(candidates)), taken)
        first = BayesianSearch()(SearchState(candidates, free, tuple(taken), times_s, rng))
        free[first] = False
        knowing = SearchState(candidates, free, (*taken, first), times_s, rng)
        moved += BayesianSearch()(knowing) != BayesianSearch()(
            SearchState(candidates, free, tuple(taken), times_s, rng)
        )
    assert moved >= 2


@pytest.mark.parametrize("sampler", [pytest.param("gp", marks=pytest.mark.long), "auto"])
def test_few_trials_find_the_optimum(sampler: str) -> None:
    optimum = min(map(time_of, SPACE.valid_configs()))
    for seed in range(6):
        search = Search(SPACE, sampler, seed)
        list(run(search, 25))
        assert search.best()[1] == optimum
