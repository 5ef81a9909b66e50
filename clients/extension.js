// joelclaw: tells `joelclaw hook` what happens in a session, and hands its texts to the model. Never throws.
import { spawn } from "node:child_process";

const JOELCLAW = "joelclaw";
const KILL_MS = 4000; // no child lives longer
const WAIT_MS = 3000; // the client waits no longer for an answer
const END_MS = 2000;
const PAUSE_MS = 60_000; // after two timeouts in a row, only a compaction is still reported
const MAX_OUT = 1_000_000; // bytes
const MAX_TEXT = 32_000; // characters of a message
const MAX_NOTICE = 500;
const MESSAGES = 12;
const MARK = "<joelclaw-memory";
const VITAL = new Set(["before_compaction", "after_compaction"]);

let timeouts = 0;
let pausedUntil = 0;

/** The texts that `joelclaw hook AGENT EVENT` answers, or null: missing, slow, failing, printing anything else. */
function hook(event, payload, ms) {
  return new Promise((resolve) => {
    try {
      if (!VITAL.has(event) && Date.now() < pausedUntil) return resolve(null);
      const given = JSON.stringify(payload);
      const group = process.platform !== "win32";
      const child = spawn(JOELCLAW, ["hook", AGENT, event], {
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
      .filter((one) => one && typeof one.customType === "string" && one.customType)
      .filter((one) => typeof one.content === "string" && one.content.startsWith(MARK))
      .map(({ customType, content }) => ({ customType, content, display: false }));
    return typeof notice === "string" ? Object.assign(found, { notice: notice.slice(0, MAX_NOTICE) }) : found;
  } catch {
    return null;
  }
}

/** What a promise brings, or undefined when it fails or takes longer. */
function within(ms, promise) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), Math.max(0, ms));
    Promise.resolve(promise).then(
      (value) => (clearTimeout(timer), resolve(value)),
      () => (clearTimeout(timer), resolve(undefined)),
    );
  });
}

/** A handler that fails in silence: the agent goes on without its memory. */
const quiet = (handler) => async (...given) => {
  try {
    return await handler(...given);
  } catch {}
};

/** Runs `work` once at a time; `asked` while it runs, it runs once more. */
function lane(work) {
  const own = { asked: false, running: null };
  own.run = () => {
    own.asked = true;
    own.running ??= (async () => {
      try {
        while (own.asked) {
          own.asked = false;
          await work();
        }
      } catch {}
      own.running = null;
    })();
  };
  return own;
}

const cut = (text, most) => (typeof text === "string" ? text.slice(0, most) : "");

/** What the person or the model said, without what a client adds to a message. */
function plain(content) {
  if (typeof content === "string") return cut(content, MAX_TEXT);
  const parts = (Array.isArray(content) ? content : []).filter((part) => part?.type === "text");
  const said = parts.filter((part) => !part.synthetic && !part.ignored).map((part) => cut(part.text, MAX_TEXT));
  return cut(said.join("\n").trim(), MAX_TEXT);
}

