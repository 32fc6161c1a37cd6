// Early answers are those of requests that boot sends while the code of the application loads. Each is read once.
const answers = new Map<string, Promise<Response>>();

export const SESSION_URL = "/console/api/session";
export const homeUrl = (account: string) => `/console/api/accounts/${account}/home`;

export function askEarly(url: string): void {
  answers.set(url, fetch(url));
}

/**
 * Returns the early answer of a request, if boot has sent it. A change discards all: the answers from before a sign-in are those of
 * nobody.
 */
export function earlyAnswer(url: string, method = "GET"): Promise<Response> | undefined {
  if (method !== "GET") answers.clear();
  const answer = answers.get(url);
  answers.delete(url);
  return answer;
}
