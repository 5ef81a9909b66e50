// For pi: an extension.
const AGENT = "pi";

export default function (pi) {
  const paths = new Map(); // tool call: the file it is to write
  const waiting = new Map(); // event: what is sent when the one in flight is done, the latest alone
  let started = null; // the answer of session_start, until the first prompt
  let recovering = null; // the answer of after_compaction
  let held = []; // texts that came while the model was at work
  let settles = false; // pi raises agent_settled, as it does since 1.0

  const on = (name, handler) => pi.on(name, quiet(handler));

  for (const name of Object.keys(TOOLS)) {
    try {
      pi.registerTool(offered(name, (ctx) => [ctx?.sessionManager?.getSessionId(), ctx?.cwd]));
    } catch {} // a pi without tools of extensions, or another tool of that name
  }

  const identity = (ctx) => ({
    session_id: ctx.sessionManager.getSessionId(),
    transcript_path: ctx.sessionManager.getSessionFile() ?? null,
    cwd: ctx.cwd,
  });

  /** What the session looks like now. */
  const state = (ctx) => {
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
  const deliver = (found, ctx, session) => {
    try {
      if (!found?.length || ctx.sessionManager.getSessionId() !== session) return;
      held.push(...found);
      flush(ctx);
    } catch {} // the session is gone
  };
  const flush = (ctx) => {
    while (held.length && ctx.isIdle()) pi.sendMessage(held.shift());
  };

  const reports = lane(async () => {
    while (waiting.size) {
      const [event, { payload, ctx }] = waiting.entries().next().value;
      waiting.delete(event);
      deliver(await hook(event, payload, KILL_MS), ctx, payload.session_id);
    }
  });
  const later = (event, payload, ctx) => {
    waiting.set(event, { payload, ctx });
    reports.run();
  };

  on("session_start", (event, ctx) => {
    held = [];
    if (event.reason === "reload") return; // the same session goes on
    const branch = ctx.sessionManager.getBranch();
    const resumed = event.reason === "startup" && branch.some((one) => one.type === "message");
    const payload = { ...identity(ctx), source: resumed ? "resume" : event.reason };
    const begin = async () => {
      deliver(await hook("session_start", payload, WAIT_MS), ctx, payload.session_id);
      if (owed(branch)) await recover({ ...state(ctx), source: "owed" }, ctx);
    };
    started = begin().catch(() => {}); // not waited for here, or pi's window would open later: the first prompt waits
  });

  on("before_agent_start", async (event, ctx) => {
    await started;
    started = null;
    const found = (await hook("prompt", { ...state(ctx), prompt: plain(event.prompt) }, WAIT_MS)) ?? [];
    deliver(found.slice(1), ctx, ctx.sessionManager.getSessionId());
    if (found.length) return { message: found[0] };
  });

  on("tool_execution_start", (event) => {
    const [path] = written(event.toolName, event.args);
    if (path) paths.set(event.toolCallId, path);
  });

  on("tool_execution_end", (event, ctx) => {
    const path = paths.get(event.toolCallId);
    paths.delete(event.toolCallId);
    const unsent = waiting.get("tool")?.payload;
    const files = new Set(unsent?.files);
    if (path && !event.isError) files.add(path);
    later("tool", { ...unsent, ...identity(ctx), files: [...files] }, ctx);
  });

  // What pi calls a turn is one request and its tools; the user's turn goes on until the agent ends.
  on("turn_end", (_event, ctx) => later("tool", { ...state(ctx), files: waiting.get("tool")?.payload.files ?? [] }, ctx));

  // The request that is about to go out; nothing here is kept by pi.
  on("context", (event) => {
    if (!held.length) return;
    const added = held.map((one) => ({ role: "custom", ...one, timestamp: Date.now() }));
    return { messages: [...event.messages, ...added] };
  });

  on("agent_end", async (_event, ctx) => {
    if (settles) return; // a retry or a compaction may follow
    later("turn_end", state(ctx), ctx);
    await new Promise((resolve) => setImmediate(resolve)); // pi is idle only after this event was raised
    flush(ctx);
  });

  on("agent_settled", (_event, ctx) => {
    if (settles) later("turn_end", state(ctx), ctx);
    settles = true;
    flush(ctx);
  });

  on("session_before_compact", async (event, ctx) => {
    const until = Date.now() + WAIT_MS;
    for (const name of ["messagesToSummarize", "turnPrefixMessages"]) unspoken(event.preparation?.[name]);
    const instructions = plain(event.customInstructions);
    const payload = { ...state(ctx), source: event.reason, instructions, leaf: event.branchEntries?.at(-1)?.id };
    await within(WAIT_MS / 2, reports.running);
    const found = await hook("before_compaction", payload, until - Date.now());
    try {
      if (found?.notice) ctx.ui.notify(found.notice, "info"); // on the screen only: neither in the context nor in the session's file
    } catch {}
    if (found?.cancel) return { cancel: true };
    const at = event.branchEntries?.at(-1)?.id;
    if (!found?.summary || !at) return;
    const made = await summary("summarize", ["--at", at], instructions, found.summary, ctx, event.signal);
    const { firstKeptEntryId, tokensBefore } = made?.result ?? {};
    if (!event.branchEntries.some((one) => one.id === firstKeptEntryId)) return;
    return { compaction: { summary: made.summary, firstKeptEntryId, tokensBefore, details: made.details } };
  });

  on("session_before_tree", async ({ preparation, signal }, ctx) => {
    const { targetId, oldLeafId, entriesToSummarize, userWantsSummary, replaceInstructions } = preparation;
    if (!userWantsSummary || replaceInstructions || !entriesToSummarize?.length) return;
    const instructions = plain(preparation.customInstructions);
    const found = await hook("before_branch", { ...identity(ctx), instructions }, WAIT_MS);
    if (!found?.summary) return;
    const words = ["--from", oldLeafId, "--to", targetId];
    const made = await summary("branch", words, instructions, found.summary, ctx, signal);
    if (made) return { summary: { summary: made.summary, details: made.details } };
  });

  /** A summary of ours, or null: pi makes its own then, and an event says why. */
  const summary = async (kind, words, instructions, ms, ctx, signal) => {
    const { session_id, transcript_path, cwd } = identity(ctx);
    if (!transcript_path || signal?.aborted) return null;
    const asked = ["compaction", kind, transcript_path, "--client", AGENT, ...words, `--instructions=${instructions}`];
    const { code, late, out } = await command([...asked, "--json"], "", ms, { cwd, signal });
    let why = late ? `it took longer than ${ms / 1000} s` : "it failed";
    try {
      const { result, error } = JSON.parse(out);
      const { summary: text, source, readFiles, modifiedFiles } = result ?? {};
      if (code === 0 && typeof text === "string" && text.trim())
        return { result, summary: text, details: { by: "joelclaw", source, readFiles, modifiedFiles } };
      why = error?.message ?? "it is empty";
    } catch {}
    if (!signal?.aborted) await failed("compaction.summary.failed", why, session_id);
    return null;
  };

  /** An event about what failed, and why. */
  const failed = (action, why, session, metadata = {}) => {
    const about = ["--source", "interactive", "--component", "session-lifecycle", "--level", "warn", "--success", "false"];
    const words = [...about, `--error=${cut(why, MAX_NOTICE)}`, `--metadata=${JSON.stringify(metadata)}`];
    const env = { ...process.env, JOELCLAW_SESSION_ID: session };
    return command(["otel", "emit", action, ...words], "", KILL_MS, { env });
  };

  const recover = async (payload, ctx) => {
    deliver(await hook("after_compaction", payload, WAIT_MS), ctx, payload.session_id);
  };
  // One after the other: `pi -p A B` compacts twice at once, and the second is then told that it was just done.
  on("session_compact", (event, ctx) => {
    const payload = { ...state(ctx), source: event.reason };
    return (recovering = Promise.resolve(recovering).then(() => recover(payload, ctx)).catch(() => {}));
  });

  on("session_compact_failed", ({ reason, willRetry, aborted, errorMessage }, ctx) => {
    if (aborted) return;
    return failed("compaction.failed", errorMessage, identity(ctx).session_id, { trigger: reason, willRetry });
  });

  on("session_shutdown", async (event, ctx) => {
    flush(ctx);
    if (event.reason === "reload") return;
    const until = Date.now() + END_MS;
    const payload = state(ctx);
    await within(END_MS / 2, Promise.all([reports.running, recovering]));
    flush(ctx);
    await hook("session_end", payload, until - Date.now());
  });
}

/**
 * Whether the session ends in a compaction after which nothing was handed back: `pi -p` may end while it compacts, and
 * then raises no session_compact.
 */
function owed(branch) {
  for (let at = branch.length - 1; at >= 0; at--) {
    const { type, message, content } = branch[at];
    if (type === "compaction") return true;
    if (type === "message" && message.role === "assistant") return false;
    if (type === "custom_message" && plain(content).startsWith(MARK)) return false;
  }
  return false;
}

/** Takes our own texts out of what is summarised, so that no memory is taken for something said in this session. */
function unspoken(messages) {
  if (!Array.isArray(messages)) return;
  const kept = messages.filter((one) => !(one?.role === "custom" && plain(one.content).startsWith(MARK)));
  if (kept.length && kept.length < messages.length) messages.splice(0, messages.length, ...kept);
}
