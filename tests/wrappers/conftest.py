"""Tasks over the domains that have hints."""

import numpy as np
import pytest

from envtune_gym import Task, TaskSet


@pytest.fixture
def file_task() -> Task:
    root = {"docs": {"type": "directory", "contents": {"a.txt": {"type": "file", "content": "one\ntwo"}}}}
    return Task(
        id="files",
        category="base",
        domains=("GorillaFileSystem",),
        initial_config={"GorillaFileSystem": {"root": {"home": {"type": "directory", "contents": root}}}},
        turns=("Show a.txt in docs.", "Make a file notes.md beside it."),
        ground_truth=(("cd(folder='docs')", "cat(file_name='a.txt')"), ("touch(file_name='notes.md')",)),
    )


@pytest.fixture
def car_task() -> Task:
    return Task(
        id="car",
        category="base",
        domains=("VehicleControlAPI", "TravelAPI"),
        initial_config={"VehicleControlAPI": {"fuelLevel": 10.0}, "TravelAPI": {"random_seed": 1}},
        turns=("Start the car.", "How far is it from Rivermist to Stonebrook?", "Which airport serves Rome?"),
        ground_truth=(
            (
                "lockDoors(unlock=False, door=['driver', 'passenger', 'rear_left', 'rear_right'])",
                "pressBrakePedal(pedalPosition=1.0)",
                "startEngine(ignitionMode='START')",
            ),
            ("estimate_distance(cityA='83214', cityB='74532')",),
            ("get_nearest_airport_by_city(location='Rome')",),
        ),
    )


@pytest.fixture
def tasks(file_task, car_task, ticket_task, withheld_task) -> TaskSet:
    return TaskSet([file_task, car_task, ticket_task, withheld_task])


@pytest.fixture
def rng():
    return np.random.default_rng(0)
