// A hook of a Node agent: reads {"session", "file"} on stdin before an edit, and prints the memories that name the file.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const { session, file } = JSON.parse(readFileSync(0, "utf8"));
const words = ["inject", "project", "--session", session, "--file", file, "--raw"];
const { status, stdout } = spawnSync("joelclaw", words, { encoding: "utf8", timeout: 2_000 });
if (status === 0) process.stdout.write(stdout);
