// Fields that many requests and answers have: money, times, ids, pages.
import { z } from "zod";
import { roles } from "./roles.ts";

/** USD with four decimals, as a string: money is never a floating-point number here. */
export const usd = z.string().regex(/^-?\d+\.\d{4}$/);

/** USD that somebody types; more than four decimals would be an amount that nothing can cost. */
export const usdInput = z
  .string({ error: 'It must be an amount of USD as a string, for example "12.50"' })
  .regex(
    /^\d{1,11}(\.\d{1,4})?$/,
    'It must be an amount of USD with at most four decimals, for example "12.50"',
  );

/** ISO 8601 in UTC, with milliseconds. */
export const time = z.string().meta({ format: "date-time" });

/** A day in UTC: 2026-11-22. */
export const day = z
  .string()
  .regex(/^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/, "It must be a day as YYYY-MM-DD");

/** A day, or a moment with its zone: presets such as "last hour" need one. */
export const moment = z.union([day, z.iso.datetime({ offset: true })], {
  error: "It must be a day as YYYY-MM-DD, or an ISO 8601 time with its zone",
});

export const email = z
  .string({ error: "It must be an e-mail address" })
  .trim()
  .toLowerCase()
  .max(254, "It must have at most 254 characters")
  .pipe(z.email("It must be an e-mail address"));

export const PASSWORD_MIN = 10;
export const PASSWORD_MAX = 128;
export const password = z
  .string({ error: "It must be a password" })
  .min(PASSWORD_MIN, `It must have at least ${PASSWORD_MIN} characters`)
  .max(PASSWORD_MAX, `It must have at most ${PASSWORD_MAX} characters`);

export const NAME_MAX = 200;
export const name = z
  .string({ error: "It must be a name" })
  .refine((text) => /\S/.test(text), "It must not be empty")
  .refine((text) => [...text].length <= NAME_MAX, `It must have at most ${NAME_MAX} characters`)
  .refine((text) => !text.includes("\0") && text.isWellFormed(), "It must be Unicode text without NUL");

export const PAGE_MAX = 100;
export const PAGE_USUAL = 50;
const noLimit = `It must be a whole number from 1 to ${PAGE_MAX}`;

/** Query of every list. */
export const pageQuery = {
  limit: z
    .string()
    .regex(/^[1-9]\d{0,2}$/, noLimit)
    .refine((text) => Number(text) <= PAGE_MAX, noLimit)
    .optional(),
  after: z.string().min(1).max(200).optional().describe("`next` of the page before"),
};

/** Answer of every list. */
export const page = <Entry extends z.ZodType>(entry: Entry) =>
  z.object({
    data: z.array(entry),
    next: z.string().nullable().describe("the `after` of the next page; null = there is none"),
  });

/** Of every answer that is no success. Its `x-request-id` header names the request. */
export const consoleError = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().optional().describe("the field at fault"),
    code: z.string().optional(),
  }),
});
export type ConsoleError = z.infer<typeof consoleError>;

export const role = z.enum(roles, { error: "It must be viewer, developer, admin or owner" });
