
// For OpenClaw: a plugin. A text of ours lasts for one turn and is not stored, so every prompt gets all that still hold.
import { join } from "node:path";

const AGENT = "openclaw";
const SESSIONS = 100; // remembered at once
const INTERNAL = /^internal-session-effects-/; // a turn of OpenClaw's own, such as the memory flush before a compaction

const sessions = new Map(); // of this process: register() runs several times in it

export default {
  id: "joelclaw",
  name: "joelclaw",
  register(api) {
    const on = (name, handler) => api.on(name, quiet((event, ctx) => handler(event ?? {}, ctx ?? {})));

    /** What is known of a session; only a turn (`ctx.trigger`) says whether it is one with the user. */
    const of = ({ sessionId: id, agentId, workspaceDir, trigger }) => {
      if (!id || INTERNAL.test(id)) return null;
      let known = sessions.get(id);
      if (!known) {
        known = { id, files: new Set(), tokens: null, window: null };
        known.turns = lane(() => hook("turn_end", payload(known), KILL_MS));
        known.tools = lane(async () => {
          const files = [...known.files];
          known.files.clear();
          if (files.length) await hook("tool", payload(known, { tool: "edit", files }), KILL_MS);
        });
        sessions.set(id, known);
        for (const old of sessions.keys()) if (sessions.size > SESSIONS) sessions.delete(old);
      }
      known.agent = agentId ?? known.agent;
      known.cwd = workspaceDir ?? known.cwd;
      if (trigger) known.isUsers = known.isUsers || trigger === "user";
      return trigger ? trigger === "user" && known : known.isUsers !== false && known;
    };
    const payload = ({ id, agent, cwd, tokens, window }, more) => {
      const percent = tokens && window ? (100 * tokens) / window : null;
      return { session_id: id, transcript_path: database(agent), cwd: cwd ?? null, tokens, window, percent, ...more };
    };
    const database = (agent) => {
      try {
        return join(api.runtime.agent.resolveAgentDir(api.config, agent), "openclaw-agent.sqlite");
      } catch {
        return null;
      }
    };

    for (const name of Object.keys(TOOLS)) {
      const tool = (ctx) => offered(name, () => [ctx?.sessionId, ctx?.workspaceDir]);
      // Other tools of plugins must be searched for before they can be called.
      api.registerTool?.((ctx) => ({ ...tool(ctx), catalogMode: "direct-only" }), { name });
    }

    on("gateway_start", () => {
      process.env.JOELCLAW_ROLE ??= "gateway";
    });

    // So that a `joelclaw recall` that the agent runs knows its session.
    on("resolve_exec_env", (_event, ctx) => (of(ctx) ? { JOELCLAW_SESSION_ID: ctx.sessionId } : undefined));

    on("before_prompt_build", async ({ prompt, currentUserMessage, messages }, ctx) => {
      const known = of(ctx);
      if (!known) return;
      await within(WAIT_MS, known.recovery);
      if (!known.started) {
        known.started = true; // here, because session_start names no folder, and is never raised without a gateway
        const source = messages?.length ? "resume" : "startup";
        await hook("session_start", payload(known, { source }), WAIT_MS);
      }
      // After an overflow OpenClaw asks again within the run, with a prompt of its own; others come from other sessions.
      const isTyped = ctx.runId !== known.run && (ctx.inputProvenance?.kind ?? "external_user") === "external_user";
      known.run = ctx.runId;
      known.reported = false;
      const typed = isTyped ? plain(currentUserMessage ?? prompt) : "";
      const found = await hook("prompt", payload(known, { prompt: typed }), WAIT_MS);
      if (found?.length) return { prependContext: found.map((one) => one.content).join("\n\n") };
    });

    on("after_tool_call", ({ toolName, params, error, result }, ctx) => {
      const known = of(ctx);
      if (!known || error || result?.details?.status === "error") return;
      for (const file of written(toolName, params)) known.files.add(file);
      if (known.files.size) known.tools.run(); // not waited for
    });

    // It comes after agent_end, whatever the turn came to.
    on("llm_output", ({ lastAssistant, contextTokenBudget }, ctx) => {
      const known = of(ctx);
      if (!known) return;
      const { input = 0, cacheRead = 0, cacheWrite = 0 } = lastAssistant?.usage ?? {};
      known.tokens = input + cacheRead + cacheWrite || known.tokens;
      known.window = contextTokenBudget ?? known.window;
      known.turns.run(); // not waited for
    });

    // It comes once for each attempt, and an attempt may come to nothing.
    on("before_compaction", async ({ tokenCount }, ctx) => {
      const known = of(ctx);
      if (!known || known.reported) return;
      known.reported = true;
      known.tokens = tokenCount ?? known.tokens;
      const until = Date.now() + WAIT_MS;
      await within(WAIT_MS / 2, known.turns.running);
      await hook("before_compaction", payload(known), until - Date.now());
    });

    on("after_compaction", ({ tokenCount, compactedCount }, ctx) => {
      const known = of(ctx);
      if (!known || compactedCount === 0) return;
      known.reported = false;
      known.tokens = tokenCount ?? null;
      return (known.recovery = hook("after_compaction", payload(known), WAIT_MS));
    });

    on("session_end", async ({ reason }, ctx) => {
      const known = sessions.get(ctx.sessionId);
      sessions.delete(ctx.sessionId);
      if (!known?.started || reason === "compaction") return;
      const until = Date.now() + END_MS;
      await within(END_MS / 2, Promise.all([known.turns.running, known.tools.running]));
      await hook("session_end", payload(known), until - Date.now());
    });
  },
};
