"""The categories of memories (taxonomy v1): ids, aliases, and a guess from the words of a text. Hot path."""

from core import words

TAXONOMY_VERSION = "v1"
OPERATIONS = "jc:operations"
FALLBACK_CONFIDENCE = 0.35  # of OPERATIONS, if no word of a text counts for a category (the contract's)

# The words that count for each category. Among equals the first category wins: a preference or a rule says more about
# a memory than the system that it is about.
_WORDS = {
    "jc:preferences":
        "prefer prefers preferred preference preferences likes dislikes hates favourite favorite wants style"
        " taste tone habit favours favors favour favor dislike hate loves love want likes please emoji emojis theme"
        " verbose concise spelling",
    "jc:rules-conventions":
        "always never must rule rules convention conventions policy forbidden required standard guideline"
        " guidelines naming lint avoid instead every allowed use don names commit commits docstring docstrings"
        " imports kebab camelcase pascalcase casing format changelog reversible approve",
    "jc:people-relationships":
        "wife husband partner friend friends colleague colleagues manager team teammate boss mother father"
        " brother sister son daughter family birthday customer met introduced introduce leads led reports contact boss"
        " contractor maintainer hired ask talk owner founder",
    "jc:memory-system":
        "memory memories recall recalls observation observations typesense embedding embeddings compaction"
        " checkpoint checkpoints episode episodes dedupe verdict gate inject injected",
    "jc:system-architecture":
        "architecture adr design schema database service services api protocol queue pipeline component"
        " components interface boundary layer layers module modules dependency monolith microservice decided"
        " decision proxy backend frontend monorepo stream streams redis postgres sqlite cache replica endpoint"
        " endpoints graphql grpc bucket bus tenants packages edge chose stored",
    OPERATIONS:
        "deploy deployed deploys deployment release rollback restart restarted server daemon cron launchd"
        " systemd docker kubernetes ci build builds test tests command port log logs error errors failed fails"
        " failure timeout incident outage backup migrate migration config configuration env install installed"
        " script worker workers",
    "jc:projects":
        "project projects roadmap milestone deadline repo repository sprint backlog launch mvp feature"
        " features ship ships shipped codename phase quarter beta relaunch rewrite due planned paused goal scope app",
}  # fmt: skip
IDS = tuple(_WORDS)
_ALIASES = {
    **{known.removeprefix("jc:"): known for known in IDS}, "prefs": "jc:preferences",
    "rules": "jc:rules-conventions", "conventions": "jc:rules-conventions", "architecture": "jc:system-architecture",
    "arch": "jc:system-architecture", "ops": OPERATIONS, "memory": "jc:memory-system",
    "people": "jc:people-relationships", "relationships": "jc:people-relationships",
}  # fmt: skip


def resolve(name: str) -> str:
    """The id of a category given by id or alias, in any case; an unknown name x becomes `jc:x`, "" remains ""."""
    slug = "-".join(name.lower().replace("_", " ").split()).removeprefix("jc:")
    return _ALIASES.get(slug, f"jc:{slug}") if slug else ""


def short(category_id: str) -> str:
    """The id without its prefix: `operations` for `jc:operations`."""
    return category_id.removeprefix("jc:")


def classify(text: str) -> tuple[str, float]:
    """The category that most words of a text count for, and the contract's confidence, .67 to .95; .35 if none does."""
    text_words = set(words.split(text[:20_000]))
    hits = {category: len(text_words.intersection(listed.split())) for category, listed in _WORDS.items()}
    best = max(hits, key=hits.__getitem__)  # the first among equals
    if not hits[best]:
        return OPERATIONS, FALLBACK_CONFIDENCE
    return best, min(0.95, round(0.55 + 0.12 * hits[best], 2))
