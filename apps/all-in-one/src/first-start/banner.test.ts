// Guarantees of the banner: the demo keys are shown to a person once, and never where output is stored. The way into the
// console is always shown.
import { expect, test } from "@jest/globals";
import { banner } from "./banner.ts";

const facts = {
  baseUrl: "http://127.0.0.1:8080",
  simulatorUrl: "http://127.0.0.1:9090",
  database: "embedded",
  topology: "all in one process",
  textNote: undefined,
  signInLink: undefined,
};
const credentials = {
  base_url: facts.baseUrl,
  account_id: "a",
  api_key: "the-api-key",
  management_key: "the-management-key",
};

test.each([
  { isNew: true, onTerminal: true, shown: true },
  { isNew: true, onTerminal: false, shown: false },
  { isNew: false, onTerminal: true, shown: false },
])("keys of a demo account, new: $isNew, on a terminal: $onTerminal, are shown: $shown", (row) => {
  const { isNew, onTerminal, shown } = row;
  const demo = { credentials, isNew, file: "/data/credentials.json" };
  const text = banner({ ...facts, demo, onTerminal });
  for (const key of ["the-api-key", "the-management-key"]) expect(text.includes(key)).toBe(shown);
  expect(text).toContain("/data/credentials.json");
});

test.each(["http://127.0.0.1:8080/sign-in#token=t", undefined])(
  "with the link %s the console is found",
  (signInLink) => {
    const demo = { credentials, isNew: true, file: "/data/credentials.json" };
    const text = banner({ ...facts, demo, onTerminal: signInLink !== undefined, signInLink });
    const command = "npm run cli -- console sign-in-link --email demo@router.localhost";
    expect([text.includes(command), text.includes("#token=t")]).toEqual([
      signInLink === undefined,
      signInLink !== undefined,
    ]);
    expect(text).toMatch(/console.*(at|by)/i);
  },
);
