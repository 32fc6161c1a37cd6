// Turns a failed listen() into the sentence that an operator needs: it names the setting that has to change.
import { OperatorError } from "./operator-error.ts";

/** Names of the variables that set the address of a port. */
export interface ListenSettings {
  readonly host: string;
  readonly port: string;
}

const NOT_OURS = new Set(["EADDRNOTAVAIL", "ENOTFOUND", "EAI_AGAIN", "EINVAL"]);

export function listenError(
  error: NodeJS.ErrnoException,
  settings: ListenSettings,
  at: { host: string; port: number },
): Error {
  const place = `${at.host}:${at.port}`;
  if (error.code === "EADDRINUSE") {
    return new OperatorError(`${place} is in use; set ${settings.port} to a free port.`);
  }
  if (error.code === "EACCES") {
    return new OperatorError(
      `This user must not listen on ${place}; set ${settings.port} to a port above 1023.`,
    );
  }
  if (NOT_OURS.has(error.code ?? "")) {
    const sentence = `Cannot listen on ${place}: ${at.host} is no address of this machine (${error.code})`;
    return new OperatorError(`${sentence}; change ${settings.host}.`);
  }
  return error;
}
