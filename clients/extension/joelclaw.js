// joelclaw for OpenCode: tells `joelclaw hook opencode` what happens and puts its texts into the system prompt.
import { spawn } from "node:child_process";

const JOELCLAW = "joelclaw";
const KILL_MS = 4000; // no child lives longer
const WAIT_MS = 3000; // OpenCode waits no longer for an answer
const END_MS = 2000;
const PAUSE_MS = 60_000; // after two timeouts in a row, only a compaction is still reported
const MAX_OUT = 1_000_000; // bytes
const MAX_TEXT = 32_000; // characters of a message
const MAX_NOTICE = 500;
const MAX_ENTRY = 8_000; // of a message for the archive
const OUTCOME = 500;
const MESSAGES = 12;
const ENTRIES = 200; // at once: a session that is taken up again is sent from its beginning, and told apart by ids
const SESSIONS = 100; // remembered at once
const MARK = "<joelclaw-memory";
const WRITES = new Set(["edit", "write", "multiedit", "patch", "apply_patch"]);
const TITLE = /^You are a title generator/; // the first part of that request's system prompt
const VITAL = new Set(["before_compaction", "after_compaction"]);

let timeouts = 0;
let pausedUntil = 0;

/** The texts that `joelclaw hook opencode EVENT` answers, or null: missing, slow, failing, printing anything else. */
function hook(event, payload, ms) {
  return new Promise((resolve) => {
    try {
      if (!VITAL.has(event) && Date.now() < pausedUntil) return resolve(null);
      const given = JSON.stringify(payload);
      const group = process.platform !== "win32";
      const child = spawn(JOELCLAW, ["hook", "opencode", event], {
        stdio: ["pipe", "pipe", "ignore"],
        detached: group, // so that its own children can be ended with it
        windowsHide: true,
      });
      const chunks = [];
      let size = 0;
      let over = false;
      const finish = (code, late) => {
        if (over) return;
        over = true;
        clearTimeout(timer);
        timeouts = late ? timeouts + 1 : 0;
        if (timeouts >= 2) pausedUntil = Date.now() + PAUSE_MS;
        resolve(code === 0 ? texts(Buffer.concat(chunks).toString("utf8")) : null);
      };
      const kill = (late) => {
        try {
          if (group && child.pid) process.kill(-child.pid, "SIGKILL");
          else child.kill("SIGKILL");
        } catch {}
        finish(null, late); // not waited for: a grandchild may hold the pipes
        child.stdin?.destroy();
        child.stdout?.destroy();
        child.unref();
      };
      const timer = setTimeout(() => kill(true), Math.min(ms, KILL_MS));
      child.on("error", () => finish(null, false));
      child.on("close", (code) => finish(code, false));
      child.stdin?.on("error", () => {}); // it may end before it has read all
      child.stdout?.on("error", () => {});
      child.stdout?.on("data", (chunk) => {
        size += chunk.length;
        if (size > MAX_OUT) kill(false);
        else chunks.push(chunk);
      });
      child.stdin?.end(given);
    } catch {
      resolve(null);
    }
  });
}

/** Only what has the form of our own answer; with `notice`, what the user is to see. */
function texts(out) {
  try {
    const { messages, notice } = JSON.parse(out);
    if (!Array.isArray(messages)) return null;
    const found = messages
      .filter((one) => typeof one?.customType === "string" && typeof one.content === "string")
      .filter((one) => one.content.startsWith(MARK));
    return typeof notice === "string" ? Object.assign(found, { notice: notice.slice(0, MAX_NOTICE) }) : found;
  } catch {
    return null;
  }
}

function within(ms, promise) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), Math.max(0, ms));
    Promise.resolve(promise).then(
      (value) => (clearTimeout(timer), resolve(value)),
      () => (clearTimeout(timer), resolve(undefined)),
    );
  });
}

const cut = (text, most) => (typeof text === "string" ? text.slice(0, most) : "");

/** What the person or the model said, without what OpenCode adds to a message. */
const plain = (parts) =>
  (parts ?? [])
    .filter((part) => part?.type === "text" && !part.synthetic && !part.ignored)
    .map((part) => cut(part.text, MAX_TEXT))
    .join("\n")
    .trim()
    .slice(0, MAX_TEXT);

/** The paths that a tool call writes. */
function written(tool, args) {
  if (!WRITES.has(tool) || !args) return [];
  const patch = args.patchText ?? args.patch ?? "";
  const named = typeof patch === "string" ? patch.matchAll(/^\*\*\* (?:Add File|Update File|Move to): (.+)$/gm) : [];
  return [args.filePath, ...[...named].map((one) => one[1].trim())].filter((path) => typeof path === "string" && path);
}

function used(part) {
  const { status, input, output, error } = part.state ?? {};
  return {
    name: part.tool,
    files: status === "completed" ? written(part.tool, input) : [],
    command: typeof input?.command === "string" ? cut(input.command, OUTCOME) : "",
    outcome: cut(status === "error" ? error : output, OUTCOME),
    failed: status === "error",
  };
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
        tokens: null,
        window: null,
        started: false,
        compacting: false,
        again: false, // another turn_end is due
        running: null, // the turn_end in flight
        tooling: null, // the tool in flight
      };
      sessions.set(id, known);
      for (const old of sessions.keys()) if (sessions.size > SESSIONS) sessions.delete(old);
    }
    return known;
  };
  const quiet = (handler) => async (input, output) => {
    try {
      await handler(input ?? {}, output ?? {});
    } catch {} // the agent goes on without its memory
  };
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
    return { messages, compacted, entries: entries.filter((one) => !known.sent.has(one.id)).slice(-ENTRIES) };
  };
  const report = async (event, known, until) => {
    const said = await news(known);
    if (event === "turn_end" && !said.entries.length) return null;
    const { messages, entries } = said;
    const found = await hook(event, payload(known, { messages, entries }), until - Date.now());
    if (found) for (const one of entries) known.sent.add(one.id);
    return found;
  };

  /** turn_end, one process at a time; what happens meanwhile is reported by one more. */
  const turn = (known) => {
    known.again = true;
    known.running ??= (async () => {
      try {
        while (known.again) {
          known.again = false;
          tell(known, await report("turn_end", known, Date.now() + KILL_MS));
        }
      } catch {}
      known.running = null;
    })();
  };
  const tool = (known) => {
    known.tooling ??= (async () => {
      try {
        while (known.files.size) {
          const files = [...known.files];
          known.files.clear();
          tell(known, await hook("tool", payload(known, { tool: "edit", files }), KILL_MS));
        }
      } catch {}
      known.tooling = null;
    })();
  };

  const show = async (message) => {
    try {
      await client.tui.showToast({ body: { message, variant: "info" } });
    } catch {} // no screen
  };

  const leave = async (known) => {
    sessions.delete(known.id);
    const until = Date.now() + END_MS;
    known.again = false;
    await within(END_MS / 2, Promise.all([known.running, known.tooling]));
    await report("session_end", known, until);
  };

  const recover = async (known) => {
    known.compacting = false;
    known.tokens = null; // not known until the next answer
    const found = await hook("after_compaction", payload(known), WAIT_MS);
    if (found?.length) known.told.clear(); // what was recalled for the context before
    tell(known, found);
  };

  return {
    "chat.message": quiet(async ({ sessionID }, { parts }) => {
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
      if (prompt) tell(known, await hook("prompt", payload(known, { prompt }), WAIT_MS));
    }),
    "tool.execute.after": quiet(async ({ tool: name, sessionID, args }) => {
      const files = written(name, args);
      if (!sessionID || !files.length) return;
      const known = of(sessionID);
      for (const file of files) known.files.add(file);
      tool(known); // not waited for
    }),
    event: quiet(async ({ event }) => {
      const { type, properties = {} } = event ?? {};
      if (type === "session.deleted") return sessions.delete(properties.info?.id);
      if (type === "session.idle") {
        const known = sessions.get(properties.sessionID);
        if (!known) return;
        known.compacting = false;
        turn(known);
      }
      if (type === "session.compacted") {
        const known = sessions.get(properties.sessionID);
        if (known?.compacting) await recover(known); // a compaction after which OpenCode does not go on by itself
      }
      const info = properties.info;
      if (type !== "message.updated" || info?.role !== "assistant" || info.summary) return;
      if (!sessions.has(info.sessionID)) return;
      const { input = 0, cache = {} } = info.tokens ?? {};
      const tokens = input + (cache.read ?? 0) + (cache.write ?? 0);
      if (!tokens || !info.time?.completed) return;
      const known = of(info.sessionID);
      known.tokens = tokens;
      turn(known); // not waited for
    }),
    dispose: quiet(async () => {
      await Promise.all([...sessions.values()].filter((known) => known.started).map(leave));
    }),
    "experimental.session.compacting": quiet(async ({ sessionID }) => {
      if (!sessionID) return;
      const known = of(sessionID);
      known.compacting = true;
      const until = Date.now() + WAIT_MS;
      known.again = false; // what it would tell is told here
      await within(WAIT_MS / 2, known.running);
      const found = await report("before_compaction", known, until);
      if (found?.notice) show(found.notice); // on the screen only; not waited for
    }),
    "experimental.compaction.autocontinue": quiet(async ({ sessionID }) => {
      if (sessionID) await recover(of(sessionID));
    }),
    "experimental.chat.system.transform": quiet(async ({ sessionID, model }, { system }) => {
      const known = sessions.get(sessionID);
      if (!known) return;
      // Neither into a summary nor into a title, which a smaller model may write.
      if (known.compacting || !Array.isArray(system) || TITLE.test(system[0] ?? "")) return;
      if (model?.limit?.context) known.window = model.limit.context;
      system.push(...known.told.values());
    }),
  };
};
