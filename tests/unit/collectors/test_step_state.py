"""What a step of the user's own keeps of training in its module's globals is found, and put back."""

from __future__ import annotations

import copy
from types import FunctionType, ModuleType
from typing import Any

import torch

from analyzer.core.settings import Mode
from collectors.state import State
from collectors.step_state import training_state
from collectors.workload import Workload

PROGRAM = """
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
other = torch.optim.SGD(model.parameters(), lr=0.5)
def step(net, x):
    net(x).square().mean().backward()
    update()
def update():
    run = lambda: optimizer.step()
    run()
    schedule.step()
    optimizer.zero_grad()
"""


def program() -> Any:
    module = ModuleType("a_users_program")
    exec(PROGRAM, module.__dict__)
    return module


def test_it_is_found_through_the_functions_that_the_step_calls_and_no_other() -> None:
    user = program()
    found = list(training_state(user.step))
    assert {id(one) for one in found} == {id(user.optimizer), id(user.schedule)}
    assert list(training_state(torch.sin)) == []


def test_functions_that_call_each_other_end() -> None:
    user = program()
    exec("def step(net, x):\n    again(net, x)\ndef again(net, x):\n    step(net, x)", user.__dict__)
    assert isinstance(user.step, FunctionType)
    assert list(training_state(user.step)) == []


def test_momentum_and_learning_rate_are_put_back_though_the_optimizer_is_no_data() -> None:
    user = program()
    work = Workload.of(user.model, (torch.ones(2, 4),), mode=Mode.TRAINING, device="cpu", step=user.step)
    before = copy.deepcopy((user.optimizer.state_dict(), user.schedule.state_dict()))
    state = State(work)
    assert callable(vars(user.optimizer).get("step")), "the schedule has wrapped it"
    for _ in range(2):
        user.step(user.model, torch.ones(2, 4))
    assert user.optimizer.state
    assert user.optimizer.param_groups[0]["lr"] < 0.5
    state.restore()
    assert str((user.optimizer.state_dict(), user.schedule.state_dict())) == str(before)
    assert user.optimizer.param_groups[0]["params"][0] is next(user.model.parameters())
