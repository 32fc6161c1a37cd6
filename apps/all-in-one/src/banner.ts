// What a person sees when the router is up: where it is, what serves it, the demo keys on the first start, and a
// request that works when pasted. Keys are for a person's eyes: where output is kept, its reader gets the file's name.
import type { Demo } from "./demo-account.ts";

export interface BannerFacts {
  readonly baseUrl: string;
  readonly simulatorUrl: string | undefined;
  readonly database: string;
  readonly topology: string;
  /** What is wrong with the text models. */
  readonly textNote: string | undefined;
  readonly demo: Demo;
  /** Signs in to the console as the owner of the demo account, once; undefined where output is kept. */
  readonly signInLink: string | undefined;
  /** Whether a terminal shows it, and nothing keeps it. */
  readonly onTerminal: boolean;
}

/** Where the launchers print. */
export interface Screen {
  readonly isTerminal: boolean;
  print(text: string): void;
}

export const stdoutScreen: Screen = {
  isTerminal: process.stdout.isTTY === true,
  print: (text) => process.stdout.write(text),
};

export function banner(facts: BannerFacts): string {
  const { baseUrl, simulatorUrl, database, topology, textNote, demo, onTerminal, signInLink } = facts;
  const upstream =
    simulatorUrl === undefined
      ? "as configured in the environment"
      : `simulated at ${simulatorUrl} (no provider is configured: answers are made up, bills are real)`;
  const { api_key: key, management_key: managementKey } = demo.credentials;
  const shown = demo.isNew && onTerminal;
  const keys = [
    ...(demo.isNew ? ["  A demo account with 10 USD was created."] : []),
    ...(shown
      ? [
          "  Its keys are shown this once and kept in",
          `  ${demo.file}:`,
          "",
          `    API key         ${key}`,
          `    management key  ${managementKey}`,
        ]
      : [`  The demo keys are in ${demo.file}.`]),
  ];
  return [
    "",
    `  Generation Router is ready at ${baseUrl}  (${topology})`,
    "",
    `  providers  ${upstream}`,
    ...(textNote === undefined ? [] : [`  text       ${textNote}`]),
    `  database   ${database}`,
    "",
    ...keys,
    "",
    ...(signInLink === undefined
      ? []
      : ["  The console, signed in once by this link:", `  ${signInLink}`, ""]),
    "  Try it:",
    "",
    ...tryIt(baseUrl, shown ? key : "$API_KEY", simulatorUrl !== undefined),
    "",
    "  Ctrl-C stops everything.",
    "",
    "",
  ].join("\n");
}

/** With real upstreams, what can be generated depends on which are configured; the list of models always works. */
function tryIt(baseUrl: string, key: string, sandbox: boolean): string[] {
  const authorization = `-H "Authorization: Bearer ${key}"`;
  if (!sandbox) return [`  curl ${baseUrl}/v1/compat/models ${authorization}`];
  return [
    `  curl ${baseUrl}/v1/compat/images/generations \\`,
    `    ${authorization} -H "Content-Type: application/json" \\`,
    `    -d '{"model":"sandbox/image","prompt":"a lighthouse at dawn"}'`,
  ];
}
