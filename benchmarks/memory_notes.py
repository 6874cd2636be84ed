"""Notes and facts that belong to no conversation, with questions that say it in other words.

Whatever helps with conversations must not harm these: they have no speaker, no session, and
nothing beside them.
"""

from dataclasses import dataclass
from itertools import product

PEOPLE = ("Amara", "Boris", "Chiyo", "Diego", "Elif", "Farid", "Greta", "Hemi")

_OF_PEOPLE = (
    (
        "{who} is allergic to {}.",
        "What food makes {who} ill?",
        "peanuts shrimp wheat milk eggs sesame celery mustard",
    ),
    (
        "{who}'s birthday is on {}.",
        "When was {who} born?",
        "3_March 17_June 22_April 9_October 30_November 1_August 12_May 25_January",
    ),
    (
        "{who} works as a {} at the harbour.",
        "What is {who}'s job?",
        "welder pilot clerk cook surveyor diver mechanic guard",
    ),
    (
        "{who} plays the {} on Sundays.",
        "Which musical instrument does {who} practise?",
        "cello flute trumpet harp oboe banjo violin drums",
    ),
    (
        "{who} drives an old {} van.",
        "What colour is the car of {who}?",
        "green blue white grey red yellow black brown",
    ),
    (
        "{who} moved here from {}.",
        "In which country did {who} live before?",
        "Ghana Bulgaria Japan Peru Turkey Iran Norway Samoa",
    ),
    (
        "{who} prefers {} to coffee.",
        "What does {who} like to drink?",
        "cocoa lemonade tea juice cider water ale mate",
    ),
    (
        "{who} is training for the {}.",
        "Which race is {who} preparing for?",
        "marathon triathlon regatta sprint relay biathlon pentathlon steeplechase",
    ),
    (
        "{who}'s daughter studies {}.",
        "What does the child of {who} learn at university?",
        "law physics botany history music nursing geology painting",
    ),
    (
        "{who} speaks {} at home.",
        "Which language is used in {who}'s family?",
        "Twi Bulgarian Japanese Quechua Kurdish Persian Danish Maori",
    ),
    (
        "{who} keeps a {} in the garden.",
        "What animal does {who} have?",
        "goat goose tortoise llama hen peacock rabbit pony",
    ),
    (
        "{who} is afraid of {}.",
        "What frightens {who}?",
        "thunder spiders heights snakes bees darkness dentists ghosts",
    ),
    (
        "{who} lent the ladder to {}.",
        "Who borrowed the ladder of {who}?",
        "Ivo Jana Kofi Lena Milo Nuri Olga Pavel",
    ),
)

PLACES = ("kitchen", "cellar", "attic", "office", "garage", "studio")

_OF_PLACES = (
    (
        "The {place} lamp needs a {} bulb.",
        "What light bulb fits the lamp in the {place}?",
        "halogen E14 GU10 E27 candle neon",
    ),
    (
        "The key of the {place} hangs behind the {}.",
        "Where do I find what opens the {place}?",
        "clock mirror calendar curtain boiler stairs",
    ),
    (
        "The walls of the {place} are painted in {}.",
        "What paint was used in the {place}?",
        "ivory ochre olive indigo coral slate",
    ),
    (
        "The heater in the {place} was repaired by {}.",
        "Who fixed the radiator of the {place}?",
        "Quinn Rosa Selim Tove Ugo Vera",
    ),
    (
        "The {place} window is {} centimetres wide.",
        "How big is the window of the {place}?",
        "80 95 110 125 140 160",
    ),
    (
        "The floor of the {place} is made of {}.",
        "What do I walk on in the {place}?",
        "oak cork slate linoleum concrete bamboo",
    ),
)

PROJECTS = ("Heron", "Larch", "Quartz", "Saffron", "Tundra", "Willow")

_OF_PROJECTS = (
    (
        "Project {project} is written in {}.",
        "What programming language does {project} use?",
        "Rust Python Kotlin Elixir Go Haskell",
    ),
    (
        "Project {project} stores its data in {}.",
        "Which database is behind {project}?",
        "SQLite Postgres Redis Cassandra Neo4j MongoDB",
    ),
    (
        "Project {project} is deployed every {}.",
        "When do releases of {project} happen?",
        "Monday Tuesday Wednesday Thursday Friday Saturday",
    ),
    (
        "The budget of project {project} is {} thousand euros.",
        "How much money may {project} spend?",
        "12 25 40 55 70 90",
    ),
    (
        "Project {project} is led by {}.",
        "Who is the boss of {project}?",
        "Wanda Xenia Yusuf Zora Anton Birgit",
    ),
    (
        "The tests of project {project} run on {}.",
        "Where is the continuous integration of {project}?",
        "Jenkins GitLab Buildkite Drone Woodpecker Forgejo",
    ),
    (
        "Project {project} must not use {}.",
        "What is forbidden in {project}?",
        "cookies recursion threads macros globals floats",
    ),
)


@dataclass(frozen=True, slots=True)
class Note:
    """A note, and a question that it answers."""

    content: str
    question: str


def notes() -> list[Note]:
    """All notes, always the same."""
    return [
        *_filled("who", PEOPLE, _OF_PEOPLE),
        *_filled("place", PLACES, _OF_PLACES),
        *_filled("project", PROJECTS, _OF_PROJECTS),
    ]


def _filled(
    name: str, subjects: tuple[str, ...], sentences: tuple[tuple[str, str, str], ...]
) -> list[Note]:
    return [
        Note(
            content=statement.format(values.split()[place].replace("_", " "), **{name: subject}),
            question=question.format(**{name: subject}),
        )
        for (place, subject), (statement, question, values) in product(
            enumerate(subjects), sentences
        )
    ]
