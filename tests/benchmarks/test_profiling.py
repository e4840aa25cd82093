from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

import torch
from profiling import described, profiled
from torch.autograd import DeviceType


def event(key, count=1, on_host=0.0, on_gpu=0.0, device=DeviceType.CPU):
    return SimpleNamespace(
        key=key,
        count=count,
        self_cpu_time_total=1e3 * on_host,
        self_device_time_total=1e3 * on_gpu,
        device_type=device,
        is_user_annotation=key == "a whole pass",
    )


EVENTS = [
    event("aten::mm", 20, on_host=3.0, on_gpu=30.0),
    event("aten::add", 40, on_host=1.0, on_gpu=10.0),
    event("gemm<bf16>", 20, on_gpu=30.0, device=DeviceType.CUDA),
    event("add<float>", 40, on_gpu=10.0, device=DeviceType.CUDA),
    event("a whole pass", 1, on_gpu=40.0, device=DeviceType.CUDA),
    event("cudaLaunchKernel", 50, on_host=5.0),
    event("cuLaunchKernelEx", 10, on_host=1.0),
    event("cudaMemcpyAsync", 7, on_host=0.5),
    event("cudaStreamSynchronize", 3, on_host=0.5),
]


def test_time_on_the_gpu_is_counted_once_and_launches_by_all_their_names():
    lines = described(EVENTS, 0.05, 2, on_gpu=True).splitlines()
    assert lines[0] == ("  50 ms while being watched, of which kernels 40 ms; 60 launches, 7 copies and fills, 3 waits")
    assert lines[1:4] == [
        "  operators by time on the GPU, 40.0 ms in all:",
        "      30.00 ms 75.0%     20 x aten::mm",
        "      10.00 ms 25.0%     40 x aten::add",
    ]
    assert [line.split(" x ")[1] for line in lines[5:7]] == ["gemm<bf16>", "add<float>"]
    assert [line.split(" x ")[1] for line in lines[8:]] == ["cudaLaunchKernel", "aten::mm"]


def test_without_a_gpu_only_the_host_is_looked_at():
    text = profiled(lambda: torch.ones(64, 64) @ torch.ones(64, 64), 3)
    assert text.startswith("  operators by time on the host, ")
    assert "aten::mm" in text or "aten::ones" in text


def test_torchs_events_have_what_is_read_of_them():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as found:
        torch.ones(2)
    assert "0.0 ms in all" in described(found.key_averages(), 0.01, 3, on_gpu=True)
