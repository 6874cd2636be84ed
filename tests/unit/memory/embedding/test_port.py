import numpy as np

from long_running_agents.memory.embedding.base import unit, well_formed


def test_vectors_are_scaled_to_one_and_a_zero_vector_stays_zero():
    scaled = unit(np.array([[3, 4], [0, 0], [1e-30, 0]], np.float32))

    assert np.allclose(scaled, [[0.6, 0.8], [0, 0], [1, 0]])
    assert scaled.dtype == np.float32
    assert scaled.flags.c_contiguous


def test_a_lone_vector_is_scaled_too():
    assert np.allclose(unit(np.array([0, 5], np.float32)), [0, 1])


def test_half_a_surrogate_pair_does_not_break_a_text():
    assert well_formed("cut \ud83d here") == "cut ? here"
    assert well_formed("whole 😀, é, 中") == "whole 😀, é, 中"
