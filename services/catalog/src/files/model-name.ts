// Rules for ids and names of models: ids with one form in a path, names that display as written.
import { withoutUnshown } from "@gr/text-upstream";
import { z } from "zod";

export const MODEL_ID =
  /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[A-Za-z0-9~@][A-Za-z0-9._:@+~-]*(\/[A-Za-z0-9._:@+~-]+)*$/;
export const MOST_ID_CHARACTERS = 200;
export const MOST_NAME_CHARACTERS = 200;

export const modelName = z
  .string()
  .min(1)
  .max(MOST_NAME_CHARACTERS)
  .refine((name) => withoutUnshown(name) === name, {
    error: "must have no control characters and no marks that turn the direction of text",
  });
