// ApiError is a refusal of the server: its message, the field at fault, and the request id for support.
export class ApiError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly param: string | undefined;
  /** Undefined when no server answered. */
  readonly requestId: string | undefined;

  constructor(fields: {
    message: string;
    status: number;
    code?: string | undefined;
    param?: string | undefined;
    requestId?: string | undefined;
  }) {
    super(fields.message);
    this.status = fields.status;
    this.code = fields.code;
    this.param = fields.param;
    this.requestId = fields.requestId;
  }
}

/** Status of an error that no server sent. */
export const NO_ANSWER = 0;

/** @returns the error of an unsuccessful answer */
export async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get("x-request-id") ?? undefined;
  const body: unknown = await response.json().catch(() => undefined);
  const error = isEnvelope(body) ? body.error : undefined;
  return new ApiError({
    message:
      error === undefined ? `The server answered with status ${response.status}.` : wordsOf(error.message),
    status: response.status,
    code: error?.code ?? undefined,
    param: error?.param ?? undefined,
    requestId,
  });
}

/** Returns a message without the API's name of the field: the page shows the message at the field. */
function wordsOf(message: string): string {
  return message.replace(/ \(field "[^"]*"\)/g, "");
}

interface Envelope {
  readonly error: { readonly message: string; readonly code?: string | null; readonly param?: string | null };
}

function isEnvelope(body: unknown): body is Envelope {
  if (typeof body !== "object" || body === null || !("error" in body)) return false;
  const { error } = body;
  return (
    typeof error === "object" && error !== null && "message" in error && typeof error.message === "string"
  );
}
