// The banner is the router's text after a start: its address, its topology, the demo keys on the first start, and a
// working sample request. Keys are shown only in a terminal: stored output contains the file's name instead.
import type { Demo } from "./demo-account.ts";
import { DEMO_EMAIL } from "./demo-owner.ts";

export interface BannerFacts {
  readonly baseUrl: string;
  readonly simulatorUrl: string | undefined;
  readonly database: string;
  readonly topology: string;
  /** Fault of the text models. */
  readonly textNote: string | undefined;
  readonly demo: Demo;
  /** Signs in to the console as the owner of the demo account, once; undefined where output is kept. */
  readonly signInLink: string | undefined;
  /** True if a terminal shows the text without storing it. */
  readonly onTerminal: boolean;
}

/** Output of the launchers. */
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
      : `simulated at ${simulatorUrl} (no provider is configured: answers and prices are simulated)`;
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
    ...consoleLines(baseUrl, signInLink),
    "  Try it:",
    "",
    ...tryIt(baseUrl, shown ? key : "$API_KEY", simulatorUrl !== undefined),
    "",
    "  Ctrl-C stops everything.",
    "",
    "",
  ].join("\n");
}

/** The address of the console, and a way to sign in. Stored output gets the command in place of the link. */
function consoleLines(baseUrl: string, signInLink: string | undefined): string[] {
  if (signInLink !== undefined) return ["  The console, signed in once by this link:", `  ${signInLink}`, ""];
  return [
    `  The console is at ${baseUrl}. This command prints a link that signs in once:`,
    `  npm run cli -- console sign-in-link --email ${DEMO_EMAIL}`,
    "",
  ];
}

/**
 * Returns a sample request. With real upstreams, the possible generations depend on their settings; the list of models
 * always works.
 */
function tryIt(baseUrl: string, key: string, sandbox: boolean): string[] {
  const authorization = `-H "Authorization: Bearer ${key}"`;
  if (!sandbox) return [`  curl "${baseUrl}/v1/models?type=all" ${authorization}`];
  return [
    `  curl ${baseUrl}/v1/compat/images/generations \\`,
    `    ${authorization} -H "Content-Type: application/json" \\`,
    `    -d '{"model":"sandbox/image","prompt":"a lighthouse at dawn"}'`,
  ];
}
