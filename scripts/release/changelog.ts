// CHANGELOG.md owns one entry for each release, the newest first. The release command adds an entry with the titles of
// its commits; people rewrite it for readers until the release is recorded. An entry is added once.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { ToolError } from "../tool.ts";

const HEADING = /^## (\d+\.\d+\.\d+) /m;
const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;

export const isVersion = (text: string) => VERSION.test(text);

/** Returns whether a version follows another one. */
export function isNewer(version: string, than: string): boolean {
  const [left, right] = [version, than].map((text) => (VERSION.exec(text) ?? []).slice(1).map(Number));
  const difference = left?.map((part, index) => part - (right?.[index] ?? 0)).find((part) => part !== 0);
  return (difference ?? 0) > 0;
}

/** @returns the text of an entry without its heading; undefined if the version has none */
export function entryOf(changelog: string, version: string): string | undefined {
  const entries = changelog.split(/^(?=## )/m).slice(1);
  const entry = entries.find((text) => HEADING.exec(text)?.[1] === version);
  return entry?.replace(/^.*\n/, "").trim();
}

/** Returns the changelog with a new first entry. @param date as 2026-11-24 @throws ToolError if the version has an entry */
export function withEntry(
  changelog: string,
  version: string,
  date: string,
  titles: readonly string[],
): string {
  if (entryOf(changelog, version) !== undefined) {
    throw new ToolError(`CHANGELOG.md has an entry for ${version} already`);
  }
  const entry = [`## ${version} (${date})`, "", ...titles.map((title) => `- ${title}`), "", ""].join("\n");
  const first = changelog.search(/^## /m);
  return first === -1
    ? `${changelog.trimEnd()}\n\n${entry.trimEnd()}\n`
    : changelog.slice(0, first) + entry + changelog.slice(first);
}

/** Returns the titles of the commits after one, the newest first, without merges. @param repository its folder */
export async function titlesSince(commit: string, repository: string): Promise<string[]> {
  const log = ["log", "--no-merges", "--format=%s", `${commit}..HEAD`];
  const { stdout } = await promisify(execFile)("git", log, { cwd: repository });
  return stdout.split("\n").filter((title) => title !== "");
}
