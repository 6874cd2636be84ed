import pytest

from long_running_agents.domain.text import asks_to_remember, is_question, is_small_talk


@pytest.mark.parametrize(
    "text",
    [
        "Hallo!", "Guten Morgen", "hi \N{WAVING HAND SIGN}", "\N{THUMBS UP SIGN}", "vielen Dank",
        "你好",
        "Hi", "Hello!", "hey there", "Hi there, how are you today?", "Good morning.", "Thank you!",
        "Thanks, that is all for today.", "Good night, see you tomorrow.", "What\u2019s up?",
        "Guten Tag", "Nice to see you again", "How is it going?", "merci",
    ],
)  # fmt: skip
def test_greetings_thanks_and_farewells_are_small_talk(text):
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "?", "Yes, please.", "Go on.", "Hi, which files are there?", "How is my dog?",
        "Great, do it.", "How many are there?", "Remember that.", "3", "This is all there is.",
    ],
)  # fmt: skip
def test_what_may_be_about_something_is_not(text):
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Remember that my cat is called Minka.", True),
        ("Can you remember that I like tea?", True),
        ("Keep in mind that I hate olives.", True),
        ("For next time: I moved.", True),
        ("Don\u2019t forget my birthday.", True),
        ("Do you remember my cat?", False),
        ("What do you remember about me?", False),
        ("Search your memory for my cat.", False),
        ("I can't remember where I put it.", False),
        ("I don't eat pork, remember that.", True),
        ("What is my cat called?", False),
        ("My cat is called Minka.", False),
    ],
)
def test_whoever_wants_something_remembered_says_so(text, asks):
    assert asks_to_remember(text) is asks


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("What is the capital of France?", True),
        ("how are you", True),
        ("The user asked what the time is.", True),
        ("The user greeted me.", True),
        ("User says 'Hi'", True),
        ("User: Hi", True),
        ("The user started the conversation with 'Hi'", True),
        ("The user started the conversation with a plan.", False),
        ("The user lives in Oslo.", False),
        ("Will works at Acme.", False),
        ("What matters to the user is honesty.", False),
        ("The user asks for short answers in every letter.", False),
    ],
)
def test_a_question_is_told_from_a_fact(text, asks):
    assert is_question(text) is asks
