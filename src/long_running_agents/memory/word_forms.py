"""Forms of English words that no rule makes: who asks for "child" means "children" too.

The tokenizer of the index brings regular forms together; these it keeps apart.
"""

from collections.abc import Mapping
from functools import cache

_FORMS = """
arise arose arisen; bear bore borne; beat beaten; become became; begin began begun; bend bent;
bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken; breed bred;
bring brought; build built; burn burnt; buy bought; catch caught; choose chose chosen; come came;
creep crept; deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk;
drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found;
flee fled; fly flew flown; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen;
get got gotten; give gave given; go went gone; grow grew grown; hang hung; hear heard;
hide hid hidden; hold held; keep kept; know knew known; lay laid; lead led; learn learnt;
leave left; lend lent; lie lain; light lit; lose lost; make made; mean meant; meet met; pay paid;
ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen; seek sought;
sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot shot; show shown;
shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid;
speak spoke spoken; speed sped; spend spent; spin spun; spring sprang sprung; stand stood;
steal stole stolen; stick stuck; sting stung; strike struck; swear swore sworn; sweep swept;
swim swam swum; swing swung; take took taken; teach taught; tear tore torn; tell told;
think thought; throw threw thrown; understand understood; wake woke woken; wear wore worn;
weave wove woven; weep wept; win won; wind wound; write wrote written;
child children; person people; man men; woman women; foot feet; tooth teeth; goose geese;
mouse mice; ox oxen; wife wives; life lives; knife knives; leaf leaves; half halves; wolf wolves;
shelf shelves; thief thieves; loaf loaves; calf calves; good better best; bad worse worst;
far farther further; die dying; tie tying; lie lying
"""


def forms(word: str) -> tuple[str, ...]:
    """A word and its other forms, itself first."""
    return (word, *(form for form in _families().get(word, ()) if form != word))


@cache
def _families() -> Mapping[str, tuple[str, ...]]:
    families: dict[str, tuple[str, ...]] = {}
    for line in _FORMS.split(";"):
        family = tuple(line.split())
        for word in family:
            families[word] = (*families.get(word, ()), *family)
    return families
