"""The suites find what they are for; that they pass where nothing is wrong, the tests of each domain show."""

import pytest

from envtune_gym import Task, TaskSet
from envtune_gym.tasks.goals import Discarded
from envtune_gym.testing import DomainSuite, HintSuite, TaskSuite

from . import broken_domains

pytestmark = pytest.mark.usefixtures("broken_package")


def suite(domain, **attributes):
    """Return the suites of a domain, with a task that calls its first tool."""
    name, tool = next(iter(getattr(broken_domains, domain).tools.items()))
    call = f"{name}({', '.join(f'{argument}=7' for argument in tool.signature.parameters)})"
    config = {"numbers": [1]}
    task = Task(
        id="one", category="base", domains=(domain,), turns=("Do it with 7.",), ground_truth=((call,),),
        initial_config={domain: config},
    )  # fmt: skip
    given = {"domain": domain, "tasks": TaskSet([task]), "configs": (config, {}), **attributes}
    return type(f"Suites{domain}", (DomainSuite, TaskSuite, HintSuite), given)()


def methods():
    return [name for name in dir(DomainSuite) if name.startswith("test_") and "hostile_messages" not in name]


@pytest.mark.parametrize("method", methods())
def test_a_sound_domain_passes(method, tmp_path):
    run(suite("SoundCounter"), method, tmp_path)


def run(suites, method, tmp_path):
    arguments = (tmp_path,) if "another_process" in method or "survive" in method else ()
    getattr(suites, method)(*arguments)


@pytest.mark.parametrize(
    ("domain", "method", "message"),
    [
        ("AliasedConfig", "a_world_reaches_neither_its_twin_nor_its_configuration_nor_a_module", "another world"),
        ("SharedModule", "a_world_reaches_neither_its_twin_nor_its_configuration_nor_a_module", "module or class"),
        ("ForgottenField", "a_fork_has_every_attribute", "lacks.*last"),
        ("SharedGenerator", "a_fork_behaves_the_same_and_goes_its_own_way", "behaved otherwise"),
        ("SharedGenerator", "a_snapshot_can_be_gone_back_to_as_often_as_wanted", "something else"),
        ("SharedGenerator", "the_same_calls_come_to_the_same", ""),
        ("SharedGenerator", "a_seed_decides_the_episodes", ""),
        ("SharedGenerator", "interleaved_rollouts_end_as_each_does_alone", ""),
        ("HashOrder", "another_process_comes_to_the_same", ""),
        ("TimeZone", "another_process_comes_to_the_same", ""),
        ("HalfDone", "any_arguments_have_a_defined_outcome", "failed and changed"),
        ("OpaqueState", "any_arguments_have_a_defined_outcome", ""),
        ("Undocumented", "schemas_are_valid_and_documented", "no docstring"),
        ("WrongDefault", "schemas_are_those_of_the_signatures", "is not of type"),
        ("TakenName", "tools_have_names_of_their_own", "TicketAPI has tools of the same name"),
        ("Unhinted", "every_code_has_a_rule_and_every_rule_a_code", "full"),
        ("Unhinted", "every_failing_call_is_explained", "full"),
    ],
)
def test_a_mistake_is_found(domain, method, message, tmp_path):
    with pytest.raises(Exception, match=f"(?s){message}"):
        run(suite(domain), f"test_{method}", tmp_path)


def test_a_tool_may_be_said_to_change_something_when_it_fails():
    suite("HalfDone", failing_changes=frozenset({"half_add"})).test_any_arguments_have_a_defined_outcome()


def test_tasks_that_are_not_solved_by_their_ground_truth_alone_are_found():
    """A call that fails in the ground truth fails again, with the same result: only the proof tells."""
    with pytest.raises(Discarded, match="call fails"):
        suite("Unhinted").test_tasks_are_fair()
    idle = Task(id="idle", category="base", domains=("SoundCounter",), turns=("Hi.",), ground_truth=((),))
    with pytest.raises(AssertionError):
        suite("SoundCounter", tasks=TaskSet([idle])).test_answering_at_once_earns_nothing()
