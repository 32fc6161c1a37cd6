// Reads the finish reason of an upstream's answer, in the upstream's own word, from the bytes of the last events.

/** Value of this key, which is the reason. */
const AFTER_KEY = /^\s*:\s*"([\w-]{1,60})"/;
const LONGEST_VALUE = 80;

/** @returns the last value that is a word; empty if there is none */
export function lastWordAfter(key: Buffer, bytes: Buffer): string {
  for (let at = bytes.lastIndexOf(key); at >= 0; at = at === 0 ? -1 : bytes.lastIndexOf(key, at - 1)) {
    const start = at + key.length;
    const word = AFTER_KEY.exec(bytes.toString("latin1", start, start + LONGEST_VALUE))?.[1];
    if (word !== undefined) return word;
  }
  return "";
}
