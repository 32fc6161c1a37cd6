// What a member of an account may do. Each role may do what the one before it may.
import { z } from "zod";

export const roles = ["viewer", "developer", "admin", "owner"] as const;
export type Role = (typeof roles)[number];

export const roleField = z.enum(roles, { error: "It must be viewer, developer, admin or owner" });

export function mayActAs(role: Role, wanted: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(wanted);
}
