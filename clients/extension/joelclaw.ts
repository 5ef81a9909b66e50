// joelclaw for pi: tells `joelclaw hook pi` what happens in a session and hands its texts to the model. Never throws.
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { spawn } from "node:child_process";

const JOELCLAW = "joelclaw";
const KILL_MS = 4000; // no child lives longer
const WAIT_MS = 3000; // pi waits no longer for an answer
const END_MS = 2000;
const PAUSE_MS = 60_000; // after two timeouts in a row, only a compaction is still reported
const MAX_OUT = 1_000_000; // bytes
const MAX_TEXT = 32_000; // characters of a prompt
const MAX_NOTICE = 500;
const MESSAGES = 12;
const MARK = "<joelclaw-memory";
const WRITES = new Set(["edit", "write"]);
const VITAL = new Set(["before_compaction", "after_compaction"]);

let timeouts = 0;
let pausedUntil = 0;

/** The texts that `joelclaw hook pi EVENT` answers; none when it is missing, slow, fails or prints something else. */
function hook(event: any, payload: any, ms: any): any {
  return new Promise((resolve) => {
    try {
      if (!VITAL.has(event) && Date.now() < pausedUntil) return resolve([]);
      const given = JSON.stringify(payload);
      const group = process.platform !== "win32";
      const child = spawn(JOELCLAW, ["hook", "pi", event], {
        stdio: ["pipe", "pipe", "ignore"],
        detached: group, // so that its own children can be ended with it
        windowsHide: true,
      });
      const chunks: any = [];
      let size = 0;
      let over = false;
      const finish = (code: any, late: any) => {
        if (over) return;
        over = true;
        clearTimeout(timer);
        timeouts = late ? timeouts + 1 : 0;
        if (timeouts >= 2) pausedUntil = Date.now() + PAUSE_MS;
        resolve(code === 0 ? texts(Buffer.concat(chunks).toString("utf8")) : []);
      };
      const kill = (late: any) => {
        try {
          if (group && child.pid) process.kill(-child.pid, "SIGKILL");
          else child.kill("SIGKILL");
        } catch {}
        child.stdin?.destroy(); // not waited for: a grandchild may hold the pipes
        child.stdout?.destroy();
        child.unref();
        finish(null, late);
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
      resolve([]);
    }
  });
}

/** Only what has the form of our own answer; with `notice`, what the user is to see. */
function texts(out: any): any {
  try {
    const { messages, notice } = JSON.parse(out);
    if (!Array.isArray(messages)) return [];
    const found = messages
      .filter((one) => one && typeof one.customType === "string" && one.customType)
      .filter((one) => typeof one.content === "string" && one.content.startsWith(MARK))
      .map(({ customType, content }) => ({ customType, content, display: false }));
    return typeof notice === "string" ? Object.assign(found, { notice: notice.slice(0, MAX_NOTICE) }) : found;
  } catch {
    return [];
  }
}

function within(ms: any, promise: any): any {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), Math.max(0, ms));
    promise.then(
      (value) => (clearTimeout(timer), resolve(value)),
      () => (clearTimeout(timer), resolve(undefined)),
    );
  });
}

function plain(content: any): any {
  if (typeof content === "string") return content.slice(0, MAX_TEXT);
  if (!Array.isArray(content)) return "";
  const parts = content.map((part) => (part?.type === "text" ? String(part.text ?? "") : ""));
  return parts.join("\n").trim().slice(0, MAX_TEXT);
}

export default function (pi: ExtensionAPI) {
  const paths = new Map(); // tool call: the file it is to write
  const waiting = new Map(); // event: the payload that is sent when the one in flight is done
  let running: any = null; // the lane of `tool` and `turn_end`: one process at a time
  let started: any = null; // the answer of session_start, until the first prompt
  let recovering: any = null; // the answer of after_compaction
  let held: any = []; // texts that came while the model was at work

  const on = (name: any, handler: any) =>
    pi.on(name, async (event: any, ctx: any) => {
      try {
        return await handler(event, ctx);
      } catch {} // the agent goes on without its memory
    });

  const identity = (ctx: any) => ({
    session_id: ctx.sessionManager.getSessionId(),
    transcript_path: ctx.sessionManager.getSessionFile() ?? null,
    cwd: ctx.cwd,
  });

  /** What the session looks like now. */
  const state = (ctx: any) => {
    const usage = ctx.getContextUsage();
    const messages = [];
    const branch = ctx.sessionManager.getBranch();
    for (let at = branch.length - 1; at >= 0 && messages.length < MESSAGES; at--) {
      if (branch[at].type !== "message" || branch[at].message.role !== "user") continue;
      const text = plain(branch[at].message.content);
      if (text) messages.unshift(text);
    }
    return {
      ...identity(ctx),
      messages,
      percent: usage?.percent ?? null,
      tokens: usage?.tokens ?? null,
      window: usage?.contextWindow ?? null,
    };
  };

  /**
   * Into the context and the session file at once when pi is idle. While it works, anything queued (steer, followUp)
   * would cost one more request after the last answer; so it is held, and shown to the next request by `context`.
   */
  const deliver = (found: any, ctx: any, session: any) => {
    try {
      if (!found.length || ctx.sessionManager.getSessionId() !== session) return;
      held.push(...found);
      flush(ctx);
    } catch {} // the session is gone
  };
  const flush = (ctx: any) => {
    while (held.length && ctx.isIdle()) pi.sendMessage(held.shift());
  };

  const work = async (ctx: any) => {
    while (waiting.size) {
      const [event, payload] = waiting.entries().next().value;
      waiting.delete(event);
      deliver(await hook(event, payload, KILL_MS), ctx, payload.session_id);
    }
    running = null;
  };
  const later = (event: any, payload: any, ctx: any) => {
    waiting.set(event, payload);
    running ??= work(ctx);
  };

  on("session_start", (event: any, ctx: any) => {
    held = [];
    if (event.reason === "reload") return; // the same session goes on
    const branch = ctx.sessionManager.getBranch();
    const resumed = event.reason === "startup" && branch.some((one) => one.type === "message");
    const payload = { ...identity(ctx), source: resumed ? "resume" : event.reason };
    const begin = async () => {
      deliver(await hook("session_start", payload, WAIT_MS), ctx, payload.session_id);
      if (owed(branch)) await recover(state(ctx), ctx);
    };
    started = begin().catch(() => {}); // not waited for here, or pi's window would open later: the first prompt waits
  });

  on("before_agent_start", async (event: any, ctx: any) => {
    await started;
    started = null;
    const found = await hook("prompt", { ...state(ctx), prompt: plain(event.prompt) }, WAIT_MS);
    deliver(found.slice(1), ctx, ctx.sessionManager.getSessionId());
    if (found.length) return { message: found[0] };
  });

  on("tool_execution_start", (event: any) => {
    const path = event.args?.path ?? event.args?.file_path;
    if (WRITES.has(event.toolName) && typeof path === "string" && path) paths.set(event.toolCallId, path);
  });

  on("tool_execution_end", (event: any, ctx: any) => {
    const path = paths.get(event.toolCallId);
    paths.delete(event.toolCallId);
    const files = new Set(waiting.get("tool")?.files ?? []); // what has not been sent yet goes along
    if (path && !event.isError) files.add(path);
    later("tool", { ...identity(ctx), tool: event.toolName, files: [...files] }, ctx);
  });

  on("turn_end", (_event: any, ctx: any) => later("turn_end", state(ctx), ctx));

  // The request that is about to go out; nothing here is kept by pi.
  on("context", (event: any) => {
    if (!held.length) return;
    const added = held.map((one) => ({ role: "custom", ...one, timestamp: Date.now() }));
    return { messages: [...event.messages, ...added] };
  });

  on("agent_end", async (_event: any, ctx: any) => {
    if (!held.length) return;
    await new Promise((resolve) => setImmediate(resolve)); // pi is idle only after this event was raised
    flush(ctx);
  });

  on("session_before_compact", async (event: any, ctx: any) => {
    const until = Date.now() + WAIT_MS;
    for (const name of ["messagesToSummarize", "turnPrefixMessages"]) unspoken(event.preparation?.[name]);
    const payload = state(ctx);
    if (running) await within(WAIT_MS / 2, running);
    const { notice } = await hook("before_compaction", payload, until - Date.now());
    if (notice) ctx.ui.notify(notice, "info"); // on the screen only: neither in the context nor in the session's file
  });

  const recover = async (payload: any, ctx: any) => {
    deliver(await hook("after_compaction", payload, WAIT_MS), ctx, payload.session_id);
  };
  // One after the other: `pi -p A B` compacts twice at once, and the second is then told that it was just done.
  on("session_compact", (_event: any, ctx: any) => {
    const payload = state(ctx);
    return (recovering = Promise.resolve(recovering).then(() => recover(payload, ctx)).catch(() => {}));
  });

  on("session_shutdown", async (event: any, ctx: any) => {
    flush(ctx);
    if (event.reason === "reload") return;
    const until = Date.now() + END_MS;
    const payload = state(ctx);
    await within(END_MS / 2, Promise.all([running, recovering]));
    flush(ctx);
    await hook("session_end", payload, until - Date.now());
  });
}

/**
 * Whether the session ends in a compaction after which nothing was handed back: `pi -p` may end while it compacts, and
 * then raises no session_compact.
 */
function owed(branch: any): any {
  for (let at = branch.length - 1; at >= 0; at--) {
    const { type, message, content } = branch[at];
    if (type === "compaction") return true;
    if (type === "message" && message.role === "assistant") return false;
    if (type === "custom_message" && plain(content).startsWith(MARK)) return false;
  }
  return false;
}

/** Takes our own texts out of what is summarised, so that no memory is taken for something said in this session. */
function unspoken(messages: any) {
  if (!Array.isArray(messages)) return;
  const kept = messages.filter((one) => !(one?.role === "custom" && plain(one.content).startsWith(MARK)));
  if (kept.length && kept.length < messages.length) messages.splice(0, messages.length, ...kept);
}
