"""The first words of all commands, and the parameters of the hot commands: `make docs` writes this file."""

# fmt: off
WORDS = {word: module for module, words in {
    "recall": "recall show how fix search",
    "session": "briefing lost session sessions",
    "memory": "note memory",
    "knowledge": "knowledge vault",
    "otel": "otel o11y",
    "compaction": "hook checkpoint inject compaction idle",
    "setup": "install uninstall off on exclude completion mcp",
    "home": "status doctor project backup restore store",
}.items() for word in words.split()}
"""The module that declares the commands that begin with a word."""
COMMANDS = {
    "recall": ("cli.commands.recall_hot:recall", "RECALL_INVALID_ARGS", {
        'QUERY': {'name': 'query', 'many': True}, '--limit -n': {'kind': 'whole', 'low': 1, 'high': 100},
        '--min-score': {'kind': 'number', 'default': 0, 'low': 0, 'high': 1}, '--raw': {'kind': 'flag'},
        '--verbatim': {'kind': 'flag'}, '--include-hold': {'kind': 'flag'}, '--include-discard': {'kind': 'flag'},
        '--budget': {'default': 'auto', 'choices': ('auto', 'lean', 'balanced', 'deep')}, '--category -c': {},
        '--tag': {'many': True}, '--collection': {}, '--session': {'default': ''}, '--project': {'default': ''},
        '--everywhere': {'kind': 'flag'}, '--since': {}, '--until': {}, '--by': {'choices': ('session',)},
        '--exit-code': {'kind': 'flag'}, '--batch': {}, '--request-file': {}, '--workstream': {},
        '--principal-ref': {}, '--purpose': {}, '--allowed-privacy': {}, '--include-superseded': {'kind': 'flag'},
        '--reflection-limit': {'kind': 'whole'}, '--observation-limit': {'kind': 'whole'},
        '--curated-limit': {'kind': 'whole'},
    }),
    "memory write": ("cli.commands.hot:memory_write", "MEMORY_INVALID_ARGS", {
        'TEXT': {'name': 'text'}, '--category -c': {'default': ''}, '--tags -t': {'default': ''},
        '--source -s': {'default': 'cli'}, '--session': {'default': ''}, '--project': {'default': ''},
        '--type': {'default': 'observation', 'choices': ('observation', 'lesson', 'pattern', 'failed_target')},
        '--global': {'name': 'for_all', 'kind': 'flag'},
    }),
    "knowledge search": ("cli.commands.hot:knowledge_search", "KNOWLEDGE_INVALID_ARGS", {
        'QUERY': {'name': 'query', 'many': True, 'required': True}, '--type -t': {'default': ''},
        '--limit -n': {'kind': 'whole', 'default': 10, 'low': 1, 'high': 100},
    }),
    "otel emit": ("cli.commands.hot:otel_emit", "OTEL_INVALID_ARGS", {
        'ACTION': {'name': 'action_word'}, '--action': {}, '--source': {}, '--component': {},
        '--level': {'choices': ('debug', 'info', 'warn', 'error', 'fatal')}, '--success': {'kind': 'truth'},
        '--metadata': {}, '--id': {}, '--timestamp': {'kind': 'whole', 'low': 0, 'high': 253402300799999},
        '--error': {}, '--duration-ms': {'kind': 'number', 'low': 0}, '--session': {}, '--stdin': {'kind': 'flag'},
    }),
    "checkpoint save": ("cli.commands.hot:checkpoint_save", "CHECKPOINT_INVALID_ARGS", {
        '--session': {}, '--percent': {'kind': 'number', 'low': 0, 'high': 100},
        '--tokens': {'kind': 'whole', 'low': 0}, '--window': {'kind': 'whole', 'low': 1},
        '--message -m': {'many': True}, '--file': {'many': True}, '--role': {}, '--stdin': {'kind': 'flag'},
    }),
    "checkpoint flush": ("cli.commands.hot:checkpoint_flush", "CHECKPOINT_INVALID_ARGS", {
        '--session': {}, '--percent': {'kind': 'number', 'low': 0, 'high': 100},
        '--tokens': {'kind': 'whole', 'low': 0}, '--window': {'kind': 'whole', 'low': 1}, '--role': {},
    }),
    "inject recovery": ("cli.commands.hot:inject_recovery", "INJECT_INVALID_ARGS", {
        '--session': {}, '--role': {}, '--raw': {'kind': 'flag'},
    }),
    "inject memory": ("cli.commands.hot:inject_memory", "INJECT_INVALID_ARGS", {
        '--session': {}, '--role': {}, '--query': {}, '--project': {'default': ''}, '--raw': {'kind': 'flag'},
    }),
    "inject refresh": ("cli.commands.hot:inject_refresh", "INJECT_INVALID_ARGS", {
        '--session': {}, '--role': {}, '--message -m': {}, '--percent': {'kind': 'number', 'low': 0, 'high': 100},
        '--raw': {'kind': 'flag'},
    }),
    "inject project": ("cli.commands.hot:inject_project", "INJECT_INVALID_ARGS", {
        '--session': {}, '--role': {}, '--file': {'many': True}, '--cwd': {}, '--raw': {'kind': 'flag'},
    }),
}
