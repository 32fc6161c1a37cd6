// Reads the client's key from its provider's header. Every key is valid except "invalid".
import type { FastifyRequest } from "fastify";

/** @param scheme the word before the key, for example "Bearer"; empty if the header has the key alone */
export function keyOf({ headers }: FastifyRequest, header: string, scheme: string): string | undefined {
  const [value = ""] = [headers[header] ?? ""].flat();
  const [first = "", second = "", ...rest] = value.trim().split(/ +/);
  if (scheme === "") return first !== "" && second === "" ? first : undefined;
  const fits = first.toLowerCase() === scheme.toLowerCase() && second !== "" && rest.length === 0;
  return fits ? second : undefined;
}
