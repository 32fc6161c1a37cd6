// Copy text owns the form of a copy in Redis: the number of its step, a signature, and its content. Only processes with the secret can
// sign, and the signature includes the key, so a text that Redis has changed or moved is no copy.
import { createHmac } from "node:crypto";
import { readTotals, totalsText } from "../chain/state-text.ts";
import type { WindowCopy } from "./window-copy.ts";

/** All copies are in one slot of a Redis Cluster, so one script writes several. The number changes with the form. */
const PREFIX = "{windows}:1:";
/** Sorted set of the names of used-up budgets, by time. */
export const USED_UP_KEY = `${PREFIX}used-up`;

const NAME = /^([0-9a-f-]{36}):([0-9a-f-]{36})$/;

export function nameOf({ account, budgetId }: WindowCopy): string {
  return `${account.id}:${budgetId}`;
}

export function keyOf(name: string): string {
  return PREFIX + name;
}

export class CopySigner {
  readonly #key: Buffer;

  /** @param secret of all processes of an installation */
  constructor(secret: string) {
    this.#key = createHmac("sha256", secret).update("copies of spend windows").digest();
  }

  textOf(copy: WindowCopy): string {
    const content = totalsText(copy.account);
    return `${copy.account.seq} ${this.#sign(nameOf(copy), content)} ${content}`;
  }

  /** @returns undefined for a text that no process has written under this name */
  read(name: string, text: string): WindowCopy | undefined {
    const [, accountId, budgetId] = NAME.exec(name) ?? [];
    const [, signature, ...words] = text.split(" ");
    const content = words.join(" ");
    if (accountId === undefined || budgetId === undefined) return undefined;
    if (signature !== this.#sign(name, content)) return undefined;
    return { budgetId, account: readTotals(content) };
  }

  #sign(name: string, content: string): string {
    return createHmac("sha256", this.#key)
      .update(`${keyOf(name)}\n${content}`)
      .digest("base64url");
  }
}
