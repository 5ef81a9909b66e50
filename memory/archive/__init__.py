"""The archive: transcripts become rows of the store, so that all of a session can be found later.

What becomes of four lines; each line is also a node of the session's tree:

| line | entry | rows |
|---|---|---|
| the user: `run the tests` | prompt | a document: `user: run the tests` |
| the agent: Bash, `pytest -q` | call | call 1 |
| `tests/test_tides.py:12: AssertionError: high_water` | result | call 1: failed, with this line as its error; a name: |
| | | high_water; its place: tests/test_tides.py, line 12 |
| the agent: `The tide is late.` | answer | a document: `assistant: The tide is late.`, with the prompt as its context |

A hook calls `ingest_file` with its transcript; `memory archive` finds the files and their sessions first
(`transcript_files`). The main line:

    ingest.Transcript.ingest            piece by piece (1 MB; in a hook 256 KB), from the stored offset to the end
        _next_piece, _add_line          line → entries, by the client; `admission` leaves out excluded folders
            Piece.begin_line            a node of the tree; the piece of the session from which a fork copied the line
            Piece.add                   entry → Message: a prompt, answer, note or title, cut and redacted (`texts`)
                PieceCalls.add          entry → CallDraft (a call, its result, its edits); plan; compaction
        SessionArchive.store            embeds the messages; then, in one transaction:
            store_copied                the same as below, for what a fork copied, as rows of the other session
            _store_episodes             Message → a document, with both indexes
            call_rows.store_calls       CallDraft → a call with its names, places and edits; plan; compaction
            branches.store_nodes        nodes; the turns that the user took back are abandoned
            save_transcript_position    the offset after the piece, and what the next piece needs (`Carry`)
    copies.settle_claims                gives what several sessions have to the session that said it first

Why nothing is stored twice, in whatever order transcripts are read:

| what comes twice | why it is stored once |
|---|---|
| a piece: after a kill, or in two processes | its offset is stored with it, if no other process has moved the offset |
| an entry: a file is read again, or a message has grown | its id is known: the client's, else a hash of the line |
| purged or forgotten entries | their ids stay known, until `--again` removes the purged ids, or brings back the rest |
| a prompt that was typed ahead, and then written as a prompt | `Carry.handed` remembers the prompt |
| what a client without a transcript sends at each event | `Carry.not_known` begins at the last message |
| what a fork, a subagent or a resumed session copied | it stays with the session that said it first (`copies`) |
| what a fork gave back to its parent, in the fork's order | `sessions.read_again`: the parent starts over |
"""

from __future__ import annotations


class Origin:
    """The session that is archived, and how."""

    def __init__(self, agent: str, session: str, cwd: str, *, now: int, again: bool = False) -> None:
        self.agent = agent  # the client's name
        self.session = session  # the id under which the session is stored
        self.cwd = cwd  # the folder that it works in, "" if unknown
        self.now = now  # ms since the epoch, for messages without a time
        self.again = again  # purged content may be archived again


class Claim:
    """That the transcript of a session has an episode which the store knows as another session's."""

    def __init__(self, episode: str, holder: str, claimant: str, first: str) -> None:
        self.episode = episode  # its id
        self.holder = holder  # the session that has it
        self.claimant = claimant  # the session whose transcript has it, too
        self.first = first  # which of the two had it first, if the ids say so
