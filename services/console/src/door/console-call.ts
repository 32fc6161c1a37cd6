// A console call is one authorized request. Each route's handler receives one.
import type { AnswerOf, ConsoleRouteName, consoleRoutes, Role } from "@gr/console-api";
import { ServiceError } from "@gr/proto";
import type { FastifyReply } from "fastify";
import type { z } from "zod";
import type { SignedIn } from "../people/people.ts";

type Parsed<Name extends ConsoleRouteName, Key extends "query" | "body"> =
  (typeof consoleRoutes)[Name] extends Record<Key, infer Schema extends z.ZodType>
    ? z.output<Schema>
    : undefined;

export interface CallerFacts {
  /** Headers of the request, for better-auth. */
  readonly headers: Headers;
  /** Network of the client: an IPv4 address or an IPv6 /64. */
  readonly network: string;
  /** Undefined on open routes without a session. */
  readonly signedIn: SignedIn | undefined;
  /** Undefined on routes without an account. */
  readonly role: Role | undefined;
}

export interface ConsoleCall<Name extends ConsoleRouteName> extends CallerFacts {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Parsed<Name, "query">;
  readonly body: Parsed<Name, "body">;
  readonly reply: FastifyReply;
}

/** Returns the JSON, or nothing if the route has no body, or sends through `reply` and returns it. */
export type Handler<Name extends ConsoleRouteName> = (
  call: ConsoleCall<Name>,
) => Promise<AnswerOf<Name> | FastifyReply | undefined>;

export type Handlers<Name extends ConsoleRouteName = ConsoleRouteName> = { [Each in Name]: Handler<Each> };

/** @throws ServiceError not_signed_in, which the check before a route's handler has ruled out. */
export function signedInOf({ signedIn }: CallerFacts): SignedIn {
  if (signedIn === undefined) throw new ServiceError("not_signed_in", "Sign in first.");
  return signedIn;
}

/** The account in the path, which the caller is a member of. */
export function accountOf({ params }: { readonly params: Readonly<Record<string, string>> }): string {
  const { account = "" } = params;
  return account.toLowerCase();
}

export function setCookies(reply: FastifyReply, cookies: readonly string[]): void {
  if (cookies.length > 0) reply.header("set-cookie", [...cookies]);
}
