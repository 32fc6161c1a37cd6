// Log probabilities of tokens: invented, but the same for the same token. Clients can rely on their order: the chosen
// token is the first, and the others are less likely.

const OTHERS = [
  " the",
  " a",
  " and",
  " of",
  " to",
  " in",
  " is",
  " it",
  " you",
  " that",
  " was",
  " for",
  " on",
  " are",
  " as",
  " with",
  " his",
  " they",
  " at",
  " be",
];

/** The entry of one token, as both APIs write it. */
export function logprobOf(token: string, alternatives: number): string {
  const chosen = -(1 + (Buffer.byteLength(token) % 7)) / 16;
  const others = OTHERS.filter((other) => other !== token).slice(0, Math.max(0, alternatives - 1));
  const top = [token, ...others].slice(0, alternatives).map((other, index) => entry(other, chosen - index));
  return `${entry(token, chosen).slice(0, -1)},"top_logprobs":[${top.join(",")}]}`;
}

/** @param alternatives undefined if not requested: an empty list */
export function logprobsOf(tokens: readonly string[], alternatives: number | undefined): string {
  return alternatives === undefined
    ? "[]"
    : `[${tokens.map((token) => logprobOf(token, alternatives)).join(",")}]`;
}

function entry(token: string, logprob: number): string {
  return `{"token":${JSON.stringify(token)},"logprob":${logprob},"bytes":[${[...Buffer.from(token)].join(",")}]}`;
}
