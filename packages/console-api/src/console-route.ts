// What the table of routes says of each.
import type { z } from "zod";
import type { Role } from "./roles.ts";

/** open: everybody; person: whoever is signed in; operator: who runs the router; a role: members who may act as that. */
export type ConsoleAccess = "open" | "person" | "operator" | Role;

export interface ConsoleRoute {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: `/console/api/${string}`;
  readonly access: ConsoleAccess;
  readonly summary: string;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Of success; 200 unless said otherwise. */
  readonly status?: 201 | 202 | 204;
  /** JSON; absent = no body, or the CSV that the path names. */
  readonly answer?: z.ZodType;
}

/** Keeps the names and shapes of a part of the table. */
export const routes = <Table extends Record<string, ConsoleRoute>>(table: Table) => table;
