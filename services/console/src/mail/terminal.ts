// The terminal that this process writes to, if it has one: for links that somebody may see and nothing may keep.
import type { Terminal } from "./mailer.ts";

export const terminal: Terminal = {
  isTerminal: process.stdout.isTTY === true,
  print: (text) => process.stdout.write(text),
};
