"""Search spaces: parameters, pruning rules, and one file per kernel."""

from foundation.config import Config, ParameterValue
from search_spaces.space import Parameter, Rule, SearchSpace

__all__ = ["Config", "Parameter", "ParameterValue", "Rule", "SearchSpace"]
