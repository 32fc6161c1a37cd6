// Turns a failed listen() into the sentence that an operator needs.
import { OperatorError } from "./operator-error.ts";

export function listenError(
  error: NodeJS.ErrnoException,
  setting: string,
  at: { host: string; port: number },
): Error {
  if (error.code === "EADDRINUSE") {
    return new OperatorError(`${at.host}:${at.port} is in use; set ${setting} to a free port.`);
  }
  if (error.code === "EACCES" || error.code === "EADDRNOTAVAIL") {
    return new OperatorError(`Cannot listen on ${at.host}:${at.port} (${error.code}); change ${setting}.`);
  }
  return error;
}
