// Forms are checked by the schemas that the server checks them with, and show what the server refuses at its field.
import type { ApiError } from "../api/api-error.ts";

interface Schema {
  safeParse(values: unknown): {
    readonly error?: {
      readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
    };
  };
}

/** For the `validate` of a form. @param toBody what of the form is sent */
export function byRules<Values>(schema: Schema, toBody: (values: Values) => unknown = (values) => values) {
  return (values: Values): Record<string, string> => {
    const errors: Record<string, string> = {};
    for (const { path, message } of schema.safeParse(toBody(values)).error?.issues ?? []) {
      errors[path.map(String).join(".") || "form"] ??= `${message}.`;
    }
    return errors;
  };
}

interface FormWithErrors {
  getValues(): object;
  setFieldError(field: string, error: string): void;
}

/** @returns true when the form has the field at fault, which now shows the message */
export function showAtField(form: FormWithErrors, error: ApiError): boolean {
  if (error.param === undefined || !(error.param in form.getValues())) return false;
  form.setFieldError(error.param, error.message);
  return true;
}
