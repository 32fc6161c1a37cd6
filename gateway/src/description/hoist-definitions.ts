// hoistDefinitions fits standalone schemas into one document. Each JSON Schema keeps its shared parts under "$defs" and
// refers to itself with "#". In a larger document these pointers would be wrong, so the parts move to
// #/components/schemas under names of their own.

type Json = unknown;
type JsonObject = Record<string, Json>;

/**
 * @param name unique in the document; names of parts begin with it.
 * @param components receives the parts.
 * @returns the schema that replaces `schema`.
 */
export function hoistDefinitions(schema: object, name: string, components: Map<string, object>): object {
  const { $defs, ...root } = schema as JsonObject;
  const parts = Object.entries(($defs ?? {}) as Record<string, object>);
  const target = (pointer: string): string => {
    if (pointer === "#") return `#/components/schemas/${name}`;
    return pointer.replace(/^#\/\$defs\//, `#/components/schemas/${name}_`);
  };
  for (const [part, definition] of parts) {
    components.set(`${name}_${part}`, repoint(definition, target) as object);
  }
  const moved = repoint(root, target) as object;
  if (!JSON.stringify(root).includes('"$ref":"#"')) return moved;
  components.set(name, moved);
  return { $ref: `#/components/schemas/${name}` };
}

function repoint(value: Json, target: (pointer: string) => string): Json {
  if (Array.isArray(value)) return value.map((item) => repoint(item, target));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) =>
      key === "$ref" && typeof item === "string" ? [key, target(item)] : [key, repoint(item, target)],
    ),
  );
}
