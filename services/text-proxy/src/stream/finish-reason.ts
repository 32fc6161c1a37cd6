// Why an upstream's answer ended, in its own word, as the bytes of its last events say it.

/** Where the word stands: the value of this key. */
const AFTER_KEY = /^\s*:\s*"([\w-]{1,60})"/;
const LONGEST_VALUE = 80;

/** @returns the last one that is a word; empty when there is none */
export function lastWordAfter(key: Buffer, bytes: Buffer): string {
  for (let at = bytes.lastIndexOf(key); at >= 0; at = at === 0 ? -1 : bytes.lastIndexOf(key, at - 1)) {
    const start = at + key.length;
    const word = AFTER_KEY.exec(bytes.toString("latin1", start, start + LONGEST_VALUE))?.[1];
    if (word !== undefined) return word;
  }
  return "";
}
