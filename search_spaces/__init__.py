"""What may be tried: parameters, rules that prune, and one file a kernel."""

from foundation.config import Config, ParameterValue
from search_spaces.space import Parameter, Rule, SearchSpace

__all__ = ["Config", "Parameter", "ParameterValue", "Rule", "SearchSpace"]
