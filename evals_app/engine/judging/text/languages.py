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
# What a quote may leave out or add without changing its meaning. All other words matter.
SMALL_WORDS = ARTICLES | _words(
    """
    of to that and is are in on at for with by it this
    zu zum zur von und ist sind im am an auf für mit dass
    de du d à au et est sont dans en pour avec que
    y es con para e è di del per che da do van te
    """
)
# Never misspelt, and never part of what a quote leaves out of a sentence.
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
# One more letter turns some of them into another number.
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
    r"\bin (?:the )?(?:case|event)\b|\bin an? emergenc|\bin emergenc|\bas long as\b|\bonly for\b"
    r"|^should (?:the|a)\b|\b(?:up)?on request\b"
    r"|\bim fall|\bbei bedarf\b|(?:^|[,;:(]\s?)als\b|\bauf (?:nach|an)frage\b|\bauf wunsch\b"
    r"|\b(?:en|au) cas\b|\bà moins\b|\bsur demande\b|\ben caso\b|\ba menos que\b|\bin caso\b"
    r"|\ba meno che\b|\bse (?:il|gli|un|una|não|non|o|os|as)\b|\bse l'"
    r"|场合|場合|もし|たら|如果|若|假如|当.{1,30}时|만약|경우"
)
_CLAUSE = r"(?:^|[.;:\u2022*-] ?)"
# "For complaints, apologises" and "Any price it names is right" are conditions without such a word.
_OCCASIONS = re.compile(
    rf"{_CLAUSE}(?:(?:for|with|upon|asked)\b[^,.;:]{{1,60}},|bei\b|any\b)"
    r"|\b(?:all|every|each)(?: \w+){1,2} (?:(?:that|which) )?it (?:name|mention|give|state|quote|cite|use)s\b"
    r"|\b(?:all|every|each)(?: \w+)? (?!are|is)\w+ (?:mentioned|named|given|stated|quoted|cited|used)"
    r" (?:is|are|ha|must|match|come|agree)"
)
# "Says when the money arrives" asks for a time; it sets no condition. "Says sorry when asked" does.
_ASKED = re.compile(
    r"\b(?:say|tell|name|naming|stat|explain|mention|ask|know|show|giv|describ|specif|inform|confirm"
    r"|list|what|who|how|why|and|or)\w*(?: \w+ly| (?:the )?(?:user|customer|client|caller|reader|guest"
    r"|patient|person|people)s?| them| him| her| me| us| you| much| many){0,2} (?:when|where|if)\b"
    r"(?! (?:asked|needed|necessary|possible|wanted|appropriate)\b)"
)
_AROUND = re.compile(r"[\s.,:;!?()\[\]{}\"'*_`\u2013\u2014-]+")

_PROHIBITIONS = NEGATIONS | _words(
    """
    avoid avoids avoiding refrain refrains refraining exclude excludes omit omits forbid forbids
    forbidden prohibit prohibited only solely exclusively exceed exceeds ignore ignores ignoring
    withhold withholds lack lacks resist resists skip skips zero doesnt dont
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
    r"|rather than|or (?:fewer|less|shorter)|up to \d|within \d|max(?:imum|imal|\.)?|0 \w+s)\b"
    r"|\b(?:under|below|unter) (?:\d|\w+ (?:word|sentence|character|letter|line|paragraph|minute)s?\b)"
    r"|\b(?:leav|left)\w*(?: \w+){0,4} (?:out|unchanged|untouched|unsaid)\b"
    r"|\b(?:keep|kept)\w*(?: \w+){1,4} (?:secret|private|confidential|hidden|unchanged)\b"
    r"|\b(?:stay|remain|keep)\w* silent\b"
    r"|\b(?:weniger|kürzer|länger|mehr) als\b|\bfrei von\b|\blässt\b[^.;]* (?:weg|aus)\b"
    r"|\b(?:menos|moins|meno|libres?|exempte?) d(?:e|i|'|\u2019)|\bcomo máximo\b|\bau plus\b"
    r"|\bal massimo\b|\bno máximo\b|\bpriv[oa] di\b|\bminder dan\b|\bmaximaal\b"
    r"|ない|ません|禁止|避け|避免|금지|않|없"
)
# "Says that no refund is due" asks for a sentence with a "no"; it forbids nothing. But "says nothing
# of a refund" does.
_REPORTED = re.compile(
    r"\b(?:say|tell|stat|explain|inform|confirm|admit|warn|clarif|acknowledg|point out|make clear"
    r"|nam|mention|quot)(?:s|es|ing|ies|ed|y|e)?\b(?!(?: \w+){0,3} (?:nothing|none|neither|no one)\b)"
    r"(?! (?:no|only)\b(?! \w+ (?:is|are|was|were|can|will|has|have)\b))"
    r"(?:(?! and | but )[^.,;:\n])*"
    r"|\b(?:sag|erklär|teil|informier|bestätig|erwähn|weis|dice|explica|informa|indica|confirma|menciona"
    r"|aclara|dit|explique|informe|indique|confirme|précise|spiega|conferma|zegt|legt)t?\b"
    r"(?:(?!\b(?:nicht|nichts|kein\w*|no|nada|pas|rien|non|niente|niet)\b)[^.;:\n]){0,40}?"
    r"\b(?:dass|daß|que|qu|che|dat)\b(?:(?! und | aber | y | pero | et | mais | e | en )[^.,;:\n])*"
)


def is_conditional(text: str) -> bool:
    """Return whether a requirement is worded as a condition: if, when, unless ..."""
    plain = _ASKED.sub("", " ".join(text.casefold().split()))
    is_named = not _CONDITIONS.isdisjoint(_AROUND.split(plain))
    return is_named or bool(_PHRASES.search(plain)) or _is_for_occasions(text)


def _is_for_occasions(text: str) -> bool:
    lines = (" ".join(line.split()) for line in text.casefold().splitlines())
    return any(map(_OCCASIONS.search, lines))


def is_forbidding(text: str) -> bool:
    """Return whether a requirement is worded as a prohibition: not, no, avoids, at most ...

    One that asks for a sentence containing such a word does not count.
    """
    plain = _REPORTED.sub("", text.casefold())
    words = _AROUND.split(plain)
    in_a_row = any(word in plain for word in ("不", "没", "沒", "無", "无", "非", "未"))
    return in_a_row or not _PROHIBITIONS.isdisjoint(words) or bool(_BOUNDS.search(plain))


def is_met_by_nothing(requirement: str, criteria: str) -> bool:
    """Return whether a requirement may be met without any evidence.

    It forbids something, or sets a condition, which need not arise; and so do the criteria that it
    was taken from, or the judge has only worded it so.
    """
    return any(
        is_worded(requirement) and is_worded(criteria)
        for is_worded in (is_forbidding, is_conditional)
    )
