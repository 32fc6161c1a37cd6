// An embedded part that is missing or broken. The message is one clear sentence for the operator.

export class EmbeddedError extends Error {
  override readonly name = "EmbeddedError";
}
