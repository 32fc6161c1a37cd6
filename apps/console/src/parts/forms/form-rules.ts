// Forms are checked by the schemas that the server checks them with.
import { config } from "zod";

// The page's policy refuses scripts from text.
config({ jitless: true });

interface Schema {
  safeParse(values: unknown): {
    readonly error?: {
      readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
    };
  };
}

/** Returns the `validate` of a form. @param toBody returns the part of the form that is sent */
export function byRules<Values>(schema: Schema, toBody: (values: Values) => unknown = (values) => values) {
  return (values: Values): Record<string, string> => {
    const errors: Record<string, string> = {};
    for (const { path, message } of schema.safeParse(toBody(values)).error?.issues ?? []) {
      errors[path.map(String).join(".") || "form"] ??= `${message}.`;
    }
    return errors;
  };
}
