// Console routes have the shape that every row of the route table shares.
import type { z } from "zod";
import type { Role } from "./roles.ts";

/**
 * open: everybody; person: every signed-in person; operator: the router's operators; a role: members with that role or
 * a higher one.
 */
export type ConsoleAccess = "open" | "person" | "operator" | Role;

export interface ConsoleRoute {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: `/console/api/${string}`;
  readonly access: ConsoleAccess;
  readonly summary: string;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Status of success; default 200. */
  readonly status?: 201 | 202 | 204;
  /** JSON; absent = no body, or the CSV that the path names. */
  readonly answer?: z.ZodType;
}

/** Keeps the names and shapes of a part of the table. */
export const routes = <Table extends Record<string, ConsoleRoute>>(table: Table) => table;
