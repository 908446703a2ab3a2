"""Short random sequences of what can happen to a memory; `benchmarks/sequences.py` runs long ones."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.sequences import Sequences

SHORT = settings(
    derandomize=True,
    max_examples=3,
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_after_random_sequences_the_database_equals_a_new_one() -> None:
    run_state_machine_as_test(Sequences, settings=SHORT)
