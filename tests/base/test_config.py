"""Switches: values, contexts, identifiers."""

import threading

import pytest

from jitney import _native
from jitney.base import config


def test_update_and_read():
    assert config.config.jax_enable_x64 is False
    config.config.update("jax_enable_x64", True)
    try:
        assert config.config.read("jax_enable_x64") is True
        assert config.enable_x64.value is True
    finally:
        config.config.update("jax_enable_x64", False)
    with pytest.raises(AttributeError, match="Unrecognized"):
        config.config.update("jax_no_such_thing", 1)
    with pytest.raises(ValueError, match="takes one of"):
        config.config.update("jax_numpy_dtype_promotion", "sometimes")


def test_contexts_nest_and_belong_to_a_thread():
    before = _native.config_id()
    seen = []
    with config.enable_x64(True):
        inside = _native.config_id()
        assert inside != before and config.config_id() == inside
        thread = threading.Thread(
            target=lambda: seen.append((config.enable_x64.value, _native.config_id()))
        )
        thread.start()
        thread.join()
        with config.enable_x64(False):
            assert config.enable_x64.value is False
            assert _native.config_id() == before
        assert _native.config_id() == inside
    assert seen == [(False, before)]
    assert _native.config_id() == before


def test_equal_settings_have_equal_ids():
    with config.default_matmul_precision("float32"):
        first = _native.config_id()
    with config.default_matmul_precision("float32"):
        assert _native.config_id() == first


def test_as_decorator():
    @config.enable_x64(True)
    def f():
        return config.enable_x64.value

    assert f() is True and config.enable_x64.value is False


def test_switches_without_effect_are_checked():
    for name, value in (("jax_transfer_guard", "sometimes"), ("jax_logging_level", "LOUD"),
                        ("jax_optimization_level", "O9"), ("jax_enable_pgle", "yes")):
        assert not config._flags[name].effective
        with pytest.raises(ValueError, match=name):
            config.config.update(name, value)
    for name in ("jax_check_static_indices", "jax_debug_key_reuse"):
        config.config.update(name, False)
        with pytest.raises(NotImplementedError, match=name):
            config.config.update(name, True)
        with pytest.raises(NotImplementedError, match=name):
            getattr(config, name.removeprefix("jax_"))(True)
