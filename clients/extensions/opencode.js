// For OpenCode: a plugin. Its texts stand in the system prompt.
const AGENT = "opencode";
const MAX_ENTRY = 8_000; // of a message for the archive
const GIVEN = 4_000; // of a text in a tool's input, INPUT of all, and OUTCOME of what it returned: their names are kept
const INPUT = 20_000;
const OUTCOME = 16_000;
const ROOM = 600_000; // characters of all messages of a report; those left out come with the next one
const STEPS = 60; // of a plan
const NOT_RUN = /^(The user rejected|The user dismissed|Tool execution aborted)/;
const ENTRIES = 200; // at once: a session that is taken up again is sent from its beginning, and told apart by ids
const SESSIONS = 100; // remembered at once
const TITLE = /^You are a title generator/; // the first part of that request's system prompt

/** A tool's input with its names, by which its secrets are known: every text cut, and none beyond the room. */
function shortened(value, room = { left: INPUT }, depth = 0) {
  if (typeof value === "string") {
    const text = ends(value, GIVEN);
    room.left -= text.length;
    return room.left < 0 ? null : text;
  }
  if (!value || typeof value !== "object" || depth > 8 || room.left < 0) return null;
  if (Array.isArray(value)) return value.map((one) => shortened(one, room, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [cut(name, 200), shortened(one, room, depth + 1)]));
}

const ends = (text, most) =>
  typeof text === "string" && text.length > most ? `${text.slice(0, most / 2)}\n${text.slice(-most / 2)}` : cut(text, most);

/** The unified diff of what a call changed; of a file that was written as a whole OpenCode has none. */
function changed(tool, input, metadata) {
  if (typeof metadata?.diff === "string") return metadata.diff;
  if (tool !== "write" || typeof input?.content !== "string") return "";
  const lines = input.content.replace(/\n$/, "").split("\n");
  return [`@@ -0,0 +1,${lines.length} @@`, ...lines.map((line) => `+${line}`)].join("\n");
}

function used(part) {
  const { status, input, output, error, metadata } = part.state ?? {};
  const fault = typeof error === "string" ? error : "";
  const plan = part.tool === "todowrite" && Array.isArray(input?.todos) ? input.todos.slice(0, STEPS) : [];
  return {
    name: part.tool,
    files: status === "completed" ? written(part.tool, input) : [],
    target: [input?.filePath, input?.path].find((path) => typeof path === "string") ?? "",
    command: typeof input?.command === "string" ? cut(input.command, GIVEN) : "",
    given: shortened(input),
    diff: status === "completed" ? cut(changed(part.tool, input, metadata), OUTCOME) : "",
    plan: plan.map((step) => ({ text: cut(step?.content, 500), status: cut(step?.status, 40) })),
    done: status === "completed" || (status === "error" && !NOT_RUN.test(fault)),
    outcome: ends(status === "error" ? fault : output, OUTCOME),
    failed: status === "error" || (Number.isInteger(metadata?.exit) && metadata.exit !== 0),
  };
}

/** The newest entries that go into one report, oldest first; one at least. */
function newest(entries) {
  let room = ROOM;
  let from = entries.length;
  while (from > 0 && entries.length - from < ENTRIES) {
    room -= JSON.stringify(entries[from - 1]).length;
    if (room < 0 && from < entries.length) break;
    from--;
  }
  return entries.slice(from);
}

/** A message of OpenCode as an entry, or null while it is not finished or holds nothing. */
function entry({ info, parts }) {
  if (!info?.id || !["user", "assistant"].includes(info.role)) return null;
  if (info.role === "assistant" && (info.summary || !(info.time?.completed || info.error))) return null;
  const text = cut(plain(parts), MAX_ENTRY);
  const tools = (parts ?? []).filter((part) => part?.type === "tool").map(used);
  return text || tools.length ? { id: info.id, role: info.role, text, tools, at: info.time?.created ?? null } : null;
}

export const Joelclaw = async ({ client, directory } = {}) => {
  const sessions = new Map();

  const of = (id) => {
    let known = sessions.get(id);
    if (!known) {
      known = {
        id,
        sent: new Set(), // ids of the messages that have arrived
        told: new Map(), // kind of text: the latest one, which the system prompt holds
        files: new Set(), // written, and not told yet
        removed: "", // id of the first message that was taken back, and not told yet
        tokens: null,
        window: null,
        started: false,
        compacting: false,
        turns: lane(async () => tell(known, await report("turn_end", known, Date.now() + KILL_MS))),
        tools: lane(async () => {
          const files = [...known.files];
          known.files.clear();
          if (files.length) tell(known, await hook("tool", payload(known, { tool: "edit", files }), KILL_MS));
        }),
      };
      sessions.set(id, known);
      for (const old of sessions.keys()) if (sessions.size > SESSIONS) sessions.delete(old);
    }
    return known;
  };
  const on = (handler) => quiet(async (input, output) => void (await handler(input ?? {}, output ?? {})));
  const payload = (known, more) => {
    const percent = known.tokens && known.window ? (100 * known.tokens) / known.window : null;
    const { id, tokens, window } = known;
    return { session_id: id, cwd: directory ?? null, tokens, window, percent, ...more };
  };
  const tell = (known, found) => {
    for (const { customType, content } of found ?? []) known.told.set(customType, content);
  };

  /** What has been said, and of that the entries that have not arrived yet. */
  const news = async (known) => {
    const ask = async () => client.session.messages({ path: { id: known.id } });
    const answer = await within(WAIT_MS / 3, ask());
    const all = (Array.isArray(answer) ? answer : answer?.data) ?? [];
    const entries = all.map(entry).filter(Boolean);
    const messages = entries.filter((one) => one.role === "user").slice(-MESSAGES).map((one) => one.text);
    const compacted = all.some((one) => one?.info?.summary === true && one.info.role === "assistant");
    return { messages, compacted, entries: newest(entries.filter((one) => !known.sent.has(one.id))) };
  };
  const report = async (event, known, until) => {
    const said = await news(known);
    if (event === "turn_end" && !said.entries.length) return null;
    const { messages, entries } = said;
    const found = await hook(event, payload(known, { messages, entries }), until - Date.now());
    if (found) for (const one of entries) known.sent.add(one.id);
    return found;
  };

  const show = async (message) => {
    try {
      await client.tui.showToast({ body: { message, variant: "info" } });
    } catch {} // no screen
  };

  const leave = async (known) => {
    sessions.delete(known.id);
    const until = Date.now() + END_MS;
    known.turns.asked = false;
    await within(END_MS / 2, Promise.all([known.turns.running, known.tools.running]));
    await report("session_end", known, until);
  };

  const recover = async (known) => {
    known.compacting = false;
    known.tokens = null; // not known until the next answer
    const found = await hook("after_compaction", payload(known), WAIT_MS);
    if (found?.length) known.told.clear(); // what was recalled for the context before
    tell(known, found);
  };

  const tools = Object.entries(TOOLS).map(([name, { description, takes, may }]) => {
    const execute = (given, about) => use(name, given, about?.sessionID, about?.directory ?? directory);
    return [name, { description, args: { ...takes, ...may }, execute }];
  });

  return {
    tool: Object.fromEntries(tools),
    "chat.message": on(async ({ sessionID }, { parts }) => {
      if (!sessionID) return;
      const known = of(sessionID);
      known.compacting = false;
      if (!known.started) {
        known.started = true;
        const { messages, compacted } = await news(known);
        const source = compacted ? "compact" : messages.length ? "resume" : "startup";
        tell(known, await hook("session_start", payload(known, { source }), WAIT_MS));
      }
      const prompt = plain(parts);
      const { removed } = known;
      known.removed = "";
      if (prompt) tell(known, await hook("prompt", payload(known, { prompt, removed }), WAIT_MS));
    }),
    "tool.execute.after": on(async ({ tool: name, sessionID, args }) => {
      const files = written(name, args);
      if (!sessionID || !files.length) return;
      const known = of(sessionID);
      for (const file of files) known.files.add(file);
      known.tools.run(); // not waited for
    }),
    event: on(async ({ event }) => {
      const { type, properties = {} } = event ?? {};
      if (type === "session.deleted") return sessions.delete(properties.info?.id);
      if (type === "session.idle") {
        const known = sessions.get(properties.sessionID);
        if (!known) return;
        known.compacting = false;
        known.turns.run();
      }
      if (type === "session.compacted") {
        const known = sessions.get(properties.sessionID);
        if (known?.compacting) await recover(known); // a compaction after which OpenCode does not go on by itself
      }
      // With the next prompt, OpenCode removes what the user took back.
      if (type === "message.removed" && properties.sessionID) {
        const known = of(properties.sessionID);
        if (!known.removed || properties.messageID < known.removed) known.removed = properties.messageID;
      }
      const info = properties.info;
      if (type !== "message.updated" || info?.role !== "assistant" || info.summary) return;
      if (!sessions.has(info.sessionID)) return;
      const { input = 0, cache = {} } = info.tokens ?? {};
      const tokens = input + (cache.read ?? 0) + (cache.write ?? 0);
      if (!tokens || !info.time?.completed) return;
      const known = of(info.sessionID);
      known.tokens = tokens;
      known.turns.run(); // not waited for
    }),
    dispose: on(async () => {
      await Promise.all([...sessions.values()].filter((known) => known.started).map(leave));
    }),
    "experimental.session.compacting": on(async ({ sessionID }) => {
      if (!sessionID) return;
      const known = of(sessionID);
      known.compacting = true;
      const until = Date.now() + WAIT_MS;
      known.turns.asked = false; // what it would tell is told here
      await within(WAIT_MS / 2, known.turns.running);
      const found = await report("before_compaction", known, until);
      if (found?.notice) show(found.notice); // on the screen only; not waited for
    }),
    "experimental.compaction.autocontinue": on(async ({ sessionID }) => {
      if (sessionID) await recover(of(sessionID));
    }),
    "experimental.chat.system.transform": on(async ({ sessionID, model }, { system }) => {
      const known = sessions.get(sessionID);
      if (!known) return;
      // Neither into a summary nor into a title, which a smaller model may write.
      if (known.compacting || !Array.isArray(system) || TITLE.test(system[0] ?? "")) return;
      if (model?.limit?.context) known.window = model.limit.context;
      system.push(...known.told.values());
    }),
  };
};
