"""Words whose change changes what a sentence says, in lower case: tables for `memory.near_duplicate`."""

from __future__ import annotations

# Negations, numbers, quantities, obligations, days.
STRICT = frozenset(
    (
        "no not never none nothing nobody nowhere neither nor cannot without unless except hardly barely rarely"
        " seldom zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty"
        " sixty hundred thousand million first second third once twice half double all some few many most only"
        " every each any both either always sometimes often must may might should monday tuesday wednesday"
        " thursday friday saturday sunday january february march april june july august september october november"
        " december today tomorrow yesterday"
    ).split()
)
# Negations of other languages, which carry a whole sentence's sense.
FOREIGN_NEGATIONS = frozenset(
    (
        "nicht kein keine keinen nie niemals ohne ne pas jamais sans aucun aucune nunca jamás sin ningún não sem"
        " nem non mai senza не нет никогда без inte aldrig utan ingen ikke aldri niet geen nooit zonder nie bez"
        " nikdy hayır değil"
    ).split()
)
# Directions, states, opposite actions, people.
POLAR = frozenset(
    (
        "to from in out on off before after over under above below up down left right into onto until since"
        " between with enable enabled enables enabling disable disabled disables disabling allow allows allowed"
        " deny denies denied forbid forbids forbidden block blocks blocked permit permits permitted accept accepts"
        " accepted reject rejects rejected increase increases increased decrease decreases decreased raise raises"
        " raised lower lowers lowered more less higher larger smaller bigger faster slower longer shorter fewer"
        " true false yes start starts started stop stops stopped begin begins end ends add adds added remove"
        " removes removed install installed uninstall uninstalled include includes included exclude excludes"
        " excluded open opens opened close closes closed lock locked unlock unlocked last next previous min max"
        " minimum maximum least sync async synchronous asynchronous public private pass passes passed fail fails"
        " failed succeeds succeeded success failure read reads write writes import imports export exports push"
        " pull upgrade upgraded downgrade downgraded old new early late safe unsafe good bad best worst better"
        " worse hot cold warm inside outside internal external incoming outgoing upper front back top bottom same"
        " different likes dislikes like dislike loves hates love hate prefers prefer avoids avoid use uses avoided"
        " used works broke broken fixed required optional mandatory keep keeps delete deletes deleted create"
        " creates created local remote staging production development dev prod he she they i we you my your his"
        " her our their him them"
    ).split()
)
NEGATING = ("un", "in", "im", "ir", "il", "dis", "non", "de", "mis", "anti", "re", "en")
NEGATING_ENDS = ("less", "free")
