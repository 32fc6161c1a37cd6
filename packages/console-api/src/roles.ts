// What a member of an account may do. Each role may do what the one before it may.

export const roles = ["viewer", "developer", "admin", "owner"] as const;
export type Role = (typeof roles)[number];

export function mayActAs(role: Role, wanted: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(wanted);
}
