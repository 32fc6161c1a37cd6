// Captured answers are the observed errors of real providers: one JSON file each in fixtures/<provider>/.
// Each names its source. No body is invented: if a source has the status alone, the file has no body.
import { readdirSync, readFileSync } from "node:fs";

export interface CapturedAnswer {
  /** `<provider>/<case>`, as its file is called. */
  readonly name: string;
  /** Repository at a commit, document, or number of a file in a public code index. */
  readonly source: string;
  /** Subject of the answer: the operator's account, moderation, the provider's load, the request, or the provider. */
  readonly about: "account" | "moderation" | "load" | "request" | "server";
  /** Exchange that was answered: the submission of a job, or a poll of an accepted job. */
  readonly at: "submit" | "poll";
  readonly status: number;
  /** Body as JSON; absent when none was captured. */
  readonly body?: unknown;
}

const FOLDER = new URL("../fixtures/", import.meta.url);

/** Answers of all providers, ordered by name. */
export const CAPTURED_ANSWERS: readonly CapturedAnswer[] = readdirSync(FOLDER)
  .sort()
  .flatMap((provider) =>
    readdirSync(new URL(`${provider}/`, FOLDER))
      .sort()
      .map((file) => readAnswer(provider, file)),
  );

const BY_NAME = new Map(CAPTURED_ANSWERS.map((answer) => [answer.name, answer]));

/** @throws Error for a name without a file */
export function capturedAnswer(name: string): CapturedAnswer {
  const answer = BY_NAME.get(name);
  if (answer === undefined) throw new Error(`no answer was captured as ${name}`);
  return answer;
}

function readAnswer(provider: string, file: string): CapturedAnswer {
  const text = readFileSync(new URL(`${provider}/${file}`, FOLDER), "utf8");
  return { ...JSON.parse(text), name: `${provider}/${file.replace(/\.json$/, "")}` };
}
