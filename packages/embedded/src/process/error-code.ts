// The code of an error from Node or SQLite ("ENOENT", 5). By shape, not by class: in a test's realm such errors are
// not instances of the Error that the test sees.

export function codeOf(error: unknown, field: "code" | "errcode" = "code"): unknown {
  return typeof error === "object" && error !== null ? Reflect.get(error, field) : undefined;
}

export function messageOf(error: unknown): string {
  const message = typeof error === "object" && error !== null ? Reflect.get(error, "message") : error;
  return String(message);
}
