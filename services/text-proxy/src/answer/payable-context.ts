// A hold never grows beyond what its caller has said to pay at most, whatever the money allows.
import { type Credits, formatCredits, smaller } from "@gr/money";
import { type AttemptContext, MAX_COST_HEADER } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";

/** @param most undefined when the caller has said nothing */
export function payableContext(context: AttemptContext, most: Credits | undefined): AttemptContext {
  if (most === undefined) return context;
  return {
    ...context,
    extend: async (least, useful) => {
      if (least > most) return { refused: tooDear(most) };
      return context.extend(least, useful === undefined ? undefined : smaller(useful, most));
    },
  };
}

function tooDear(most: Credits): ServiceError {
  const message = `It costs more than the ${formatCredits(most)} USD of the request's ${MAX_COST_HEADER} header.`;
  return new ServiceError("max_cost_exceeded", message, { param: MAX_COST_HEADER });
}
