"""Readings of an AMD GPU, by a module with amdsmi's functions: there is no such GPU here."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gpu_runner.amd_readings import AmdReadings
from gpu_runner.conditions import GpuWatch

OTHER = 4711


class FakeSmi:
    """amdsmi, as its reference describes what its functions return."""

    class AmdSmiException(Exception):
        pass

    AmdSmiClkType = SimpleNamespace(GFX="GFX")

    def __init__(self) -> None:
        self.mhz: object = 2100
        self.hot = 7
        self.busy_ns = {OTHER: 0}
        self.tells = True

    def amdsmi_init(self) -> None:
        pass

    def amdsmi_get_processor_handle_from_bdf(self, address: str) -> str:
        if address != "0000:c1:00.0":
            raise self.AmdSmiException("not found")
        return "handle"

    def amdsmi_get_clock_info(self, handle: str, kind: str) -> dict[str, object]:
        return self._told(handle, {"clk": self.mhz, "max_clk": 2100})

    def amdsmi_get_gpu_metrics_info(self, handle: str) -> dict[str, object]:
        return self._told(
            handle, {"socket_thm_residency_acc": self.hot, "vr_thm_residency_acc": "N/A"}
        )

    def amdsmi_get_gpu_process_list(self, handle: str) -> list[dict[str, object]]:
        rows = [
            {"pid": pid, "engine_usage": {"gfx": ns, "enc": 0}} for pid, ns in self.busy_ns.items()
        ]
        return self._told(handle, rows)

    def _told(self, handle: str, value: Any) -> Any:
        assert handle == "handle"
        if not self.tells:
            raise self.AmdSmiException("not supported")
        return value


@pytest.fixture
def smi(monkeypatch: pytest.MonkeyPatch) -> FakeSmi:
    """The module, in place of amdsmi, and torch as built for ROCm."""
    fake = FakeSmi()
    monkeypatch.setitem(__import__("sys").modules, "amdsmi", fake)
    monkeypatch.setattr(torch.version, "hip", "7.0")
    facts = SimpleNamespace(pci_domain_id=0, pci_bus_id=0xC1, pci_device_id=0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: facts)
    return fake


def watching(smi: FakeSmi) -> GpuWatch:
    """A watch whose process was not there before it had a context."""
    watch = GpuWatch(0)
    smi.busy_ns[os.getpid()] = 0
    watch.know_own_process()
    assert watch.notes == ()
    watch.start()
    return watch


def test_a_quiet_gpu_is_not_doubted(smi: FakeSmi) -> None:
    watch = watching(smi)
    smi.busy_ns[os.getpid()] += 10**12
    assert watch.stop() == ""
    assert watch.conditions["after_frequency_hz"] == 2.1e9
    assert watch.conditions["other_programs_percent"] == 0


def test_another_programs_use_is_a_doubt(smi: FakeSmi) -> None:
    watch = watching(smi)
    smi.busy_ns[OTHER] += 10**12
    assert watch.stop() == "another program used 100% of it"


def test_heat_is_a_doubt_once(smi: FakeSmi) -> None:
    watch = watching(smi)
    smi.hot += 1
    assert watch.stop() == "it was slowed down since it is hot"
    watch.start()
    assert watch.stop() == ""


def test_a_changed_clock_is_a_doubt(smi: FakeSmi) -> None:
    watch = watching(smi)
    smi.mhz = 1400
    assert watch.stop() == "its clock changed from 2100 to 1400 MHz"


def test_what_is_not_told_is_absent(smi: FakeSmi) -> None:
    smi.tells = False
    readings = AmdReadings(smi, "0000:c1:00.0")
    readings.know_own_process()
    assert readings.notes == ("other programs on it cannot be seen",)
    reading = readings.read()
    assert (reading.clock_hz, reading.slowdown, reading.other_percent) == (None, "", None)


def test_an_unknown_gpu_is_not_watched_and_the_user_is_told(
    smi: FakeSmi, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = SimpleNamespace(pci_domain_id=0, pci_bus_id=1, pci_device_id=0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: facts)
    (note,) = GpuWatch(0).notes
    assert note.endswith("are not watched: amdsmi says not found")
