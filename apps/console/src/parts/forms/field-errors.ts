// Field errors are the server's refusals, shown at the field of a form.
import type { ApiError } from "../../api/api-error.ts";

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
