"""Words of many languages that change what a sentence says, or do not."""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES = _words(
    """
    a an the der die das den dem des ein eine einen einem einer eines le la les l un une el los las
    una il lo gli os um uma het een
    """
)
# What a quote may leave out or add without saying something else. Whatever is not listed matters.
SMALL_WORDS = ARTICLES | _words(
    """
    of to that and is are in on at for with by it this
    zu zum zur von und ist sind im am an auf für mit dass
    de du d à au et est sont dans en pour avec que
    y es con para e è di del per che da do van te
    """
)
# Never misspelt, and never inside of what a quote leaves out of a sentence.
NEGATIONS = _words(
    """
    not no never none nothing nobody nowhere neither nor without cannot
    nicht nichts nie niemals niemand kein keine keinen keinem keiner keines ohne weder
    pas ne jamais rien aucun aucune sans
    ni nunca jamás nada nadie ningún ninguna ninguno sin
    não nem nenhum nenhuma sem
    non mai niente nessun nessuna nessuno senza
    niet nooit niets geen zonder
    bez żaden není inte aldrig ingen inget inga utan ikke aldri intet ei eivät eikä ilman
    не нет ни никогда без ні μην δεν όχι değil yok hayır
    لا ليس لم لن غير नहीं मत 不 没 沒 無 无 非 未
    """  # noqa: RUF001 - as they are written
)
NEGATED_PAIRS = _words("ない なか ませ ไม")  # of characters, in scripts without spaces
# A letter more makes another number of some of them.
NUMBER_WORDS = _words(
    """
    four five seven eight nine eighth ninth forty fifty sixty seventy eighty ninety hundred thousand
    million billion drei vier fünf sechs sieben acht neun zehn hundert tausend quatre cinq sept huit
    neuf cent mille cuatro cinco seis siete ocho nueve cien ciento mil
    """
)

_CONDITIONS = _words(
    """
    if when whenever where wherever unless falls provided providing otherwise
    wenn sofern soweit sobald außer
    si quand lorsque sauf sinon cuando salvo excepto
    quando qualora caso wanneer indien tenzij mits
    jeśli jeżeli gdy chyba pokud jestliže když
    om när ifall såvida hvis når dersom medmindre
    jos kun ellei mikäli если когда якщо коли eğer
    إذا إن عندما यदि अगर जब αν εάν όταν
    """  # noqa: RUF001 - as they are written
)
_PHRASES = re.compile(
    r"\bin (?:the )?(?:case|event)\b|\bas long as\b|\bonly for\b|^should (?:the|a)\b"
    r"|\bim fall|\bbei bedarf\b|(?:^|[,;:(]\s?)als\b"
    r"|\b(?:en|au) cas\b|\bà moins\b|\ben caso\b|\ba menos que\b|\bin caso\b|\ba meno che\b"
    r"|\bse (?:il|gli|un|una|não|non|o|os|as)\b|\bse l'"
    r"|场合|場合|もし|たら|如果|若|假如|当.{1,30}时|만약|경우"
)
# "Says when the money arrives" asks for a time; it sets no condition.
_ASKED = re.compile(
    r"\b(?:say|tell|name|naming|stat|explain|mention|ask|know|show|giv|describ|specif|inform|confirm"
    r"|list|what|who|how|why|and|or)\w*(?: \w+){0,2} (?:when|where)\b"
)
_AROUND = re.compile(r"[\s.,:;!?()\[\]{}\"'*_`\u2013\u2014-]+")

_PROHIBITIONS = NEGATIONS | _words(
    """
    avoid avoids avoiding refrain refrains refraining exclude excludes omit omits forbid forbids
    forbidden prohibit prohibited only solely exclusively exceed exceeds
    vermeidet vermeiden verzichtet unterlässt nur ausschließlich verboten höchstens
    évite éviter évitez sauf seulement uniquement interdit
    evita evitar evite solo sólo únicamente solamente prohibido prohibida
    evitare soltanto vietato só somente apenas proibido
    vermijd vermijdt vermijden alleen slechts hoogstens
    unika undvik undviker undgår undgå älä älkää только избегает yalnızca sadece kaçın
    """  # noqa: RUF001 - as they are written
)
_BOUNDS = re.compile(
    r"n['\u2019]t\b|\b(?:free (?:of|from)|at most|(?:fewer|less|shorter|longer|more) than|instead of"
    r"|up to \d|under \d|within \d|max(?:imum|imal|\.)?)\b|ない|ません|禁止|避け|避免|금지|않|없"
)
# "Says that no refund is due" asks for a sentence with a "no"; it forbids nothing. But "says nothing
# of a refund" does.
_REPORTED = re.compile(
    r"\b(?:say|tell|stat|explain|inform|confirm|admit|warn|clarif|acknowledg|point out|make clear"
    r"|nam|mention|quot)(?:s|es|ing|ies|ed|y|e)?\b(?!(?: \w+){0,3} (?:nothing|none|neither|no one)\b)"
    r"(?! (?:no|only)\b(?! \w+ (?:is|are|was|were|can|will|has|have)\b))"
    r"(?:(?! and | but )[^.,;:\n])*"
)


def is_conditional(text: str) -> bool:
    """Return whether a requirement is worded as a condition: if, when, unless ..."""
    plain = _ASKED.sub("", " ".join(text.casefold().split()))
    return bool(_CONDITIONS.intersection(_AROUND.split(plain))) or bool(_PHRASES.search(plain))


def is_forbidding(text: str) -> bool:
    """Return whether a requirement is worded as a prohibition: not, no, avoids, at most ...

    One that asks for a sentence with such a word in it is none.
    """
    plain = _REPORTED.sub("", text.casefold())
    words = _AROUND.split(plain)
    in_a_row = any(word in plain for word in ("不", "没", "沒", "無", "无", "非", "未"))
    return in_a_row or not _PROHIBITIONS.isdisjoint(words) or bool(_BOUNDS.search(plain))


def is_met_by_nothing(requirement: str, criteria: str) -> bool:
    """Return whether a requirement may be met where nothing bears on it.

    It forbids something, or sets a condition, which need not arise; and so do the criteria that it
    was taken from, or the judge has only worded it so.
    """
    return any(
        is_worded(requirement) and is_worded(criteria)
        for is_worded in (is_forbidding, is_conditional)
    )
