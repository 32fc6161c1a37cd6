// The order of a reply's tokens on the wire: part after part, and with several choices one token of each in turn.
import type { Reply, ReplyChoice, ReplyPart } from "./reply.ts";

/** One token of the stream, with its position. */
export interface ReplyStep {
  /** Index of its choice. */
  readonly choice: number;
  readonly part: ReplyPart;
  /** Index of its part within the choice. */
  readonly at: number;
  readonly token: string;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

export function* stepsOf({ choices }: Reply): Generator<ReplyStep, void> {
  const walks = choices.map(walk);
  while (walks.length > 0) {
    for (let index = 0; index < walks.length; ) {
      const { done, value } = (walks[index] as Generator<ReplyStep, void>).next();
      if (done === true) walks.splice(index, 1);
      else {
        yield value as ReplyStep;
        index++;
      }
    }
  }
}

function* walk({ parts }: ReplyChoice, choice: number): Generator<ReplyStep, void> {
  for (const [at, part] of parts.entries()) {
    const end = part.tokens.length - 1;
    for (const [index, token] of part.tokens.entries()) {
      yield { choice, part, at, token, isFirst: index === 0, isLast: index === end };
    }
  }
}
