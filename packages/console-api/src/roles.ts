// Roles are the rights of an account's members. Each role includes the rights of the role before it.

export const roles = ["viewer", "developer", "admin", "owner"] as const;
export type Role = (typeof roles)[number];

export function mayActAs(role: Role, wanted: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(wanted);
}
