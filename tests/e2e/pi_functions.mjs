// pi's own functions over session files: a request a line on stdin, its answer a line on stdout.
// node pi_functions.mjs <folder of the package>
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const load = (path) => import(pathToFileURL(join(folder, "dist", ...path.split("/"))));
const compaction = await load("core/compaction/compaction.js");
const branches = await load("core/compaction/branch-summarization.js");
const utils = await load("core/compaction/utils.js");
const { convertToLlm } = await load("core/messages.js");
const { SessionManager } = await load("core/session-manager.js");

const flat = (messages) => utils.serializeConversation(convertToLlm(messages));
const files = (ops) => ({ read: [...ops.read], written: [...ops.written], edited: [...ops.edited] });
const lists = (ops) => utils.computeFileLists(ops);

function answer({ path, keepRecent, reserve, window, leaf, target, budget }) {
	const session = SessionManager.open(path);
	const branch = session.getBranch();
	const context = session.buildSessionContext().messages;
	const settings = { enabled: true, reserveTokens: reserve, keepRecentTokens: keepRecent };
	const prepared = compaction.prepareCompaction(branch, settings);
	const last = branch.findLastIndex((entry) => entry.type === "compaction");
	const estimate = compaction.estimateProjectedContextTokens(session.buildSessionProjection(), branch);
	const start = last < 0 ? 0 : branch.slice(0, last).findIndex((entry) => entry.id === branch[last].firstKeptEntryId);
	const from = start < 0 ? last + 1 : start;
	const left = branches.collectEntriesForBranchSummary(session, leaf, target);
	const chosen = branches.prepareBranchEntries(left.entries, budget);
	return {
		branch: branch.length,
		ids: branch.map((entry) => entry.id),
		tokens: branch.map((entry) => (entry.type === "message" ? compaction.estimateTokens(entry.message) : null)),
		context: flat(context),
		contextTokens: estimate.tokens,
		shouldCompact: compaction.shouldCompact(estimate.tokens, window, settings),
		cut: compaction.findCutPoint(branch, from, branch.length, keepRecent),
		turnStarts: branch.map((_, index) => compaction.findTurnStartIndex(branch, index, from)),
		from,
		prepared: prepared && {
			firstKept: branch.findIndex((entry) => entry.id === prepared.firstKeptEntryId),
			isSplitTurn: prepared.isSplitTurn,
			tokensBefore: prepared.tokensBefore,
			previousSummary: prepared.previousSummary ?? "",
			messagesToSummarize: prepared.messagesToSummarize.length,
			turnPrefixMessages: prepared.turnPrefixMessages.length,
			history: flat(prepared.messagesToSummarize),
			prefix: flat(prepared.turnPrefixMessages),
			fileOps: files(prepared.fileOps),
			lists: lists(prepared.fileOps),
		},
		left: {
			commonAncestorId: left.commonAncestorId,
			ids: left.entries.map((entry) => entry.id),
			messages: chosen.messages.length,
			tokens: chosen.totalTokens,
			text: flat(chosen.messages),
			fileOps: files(chosen.fileOps),
			lists: lists(chosen.fileOps),
		},
	};
}

const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
console.log(JSON.stringify({ version }));
for await (const line of createInterface({ input: process.stdin })) {
	let answered;
	try {
		answered = answer(JSON.parse(line));
	} catch (error) {
		answered = { error: String(error.stack) };
	}
	process.stdout.write(`${JSON.stringify(answered)}\n`);
}
