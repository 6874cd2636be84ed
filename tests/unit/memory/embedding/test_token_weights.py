import numpy as np

from long_running_agents.memory.embedding.bundled import COMMON, LONGEST, token_weights


def weights(**lengths):
    return dict(
        zip(
            lengths,
            token_weights(list(lengths), np.array(list(lengths.values()), np.float32)),
            strict=True,
        )
    )


def test_words_that_hold_a_sentence_together_and_signs_count_little():
    found = weights(**{"▁the": 1, "The": 1, "▁": 1, "!": 1, "▁harbour": 1})

    assert np.allclose(list(found.values()), [COMMON] * 4 + [1])


def test_no_token_outshouts_the_others():
    found = weights(**{"▁Caroline": 3 * LONGEST, "▁boat": LONGEST, "▁sea": 1.0})

    assert np.allclose(list(found.values()), [1 / 3, 1, 1])


def test_a_vector_of_no_length_is_no_trouble():
    assert np.allclose(list(weights(x=0).values()), [1])
