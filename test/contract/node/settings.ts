// Questions for the clients, and the address of the router.

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

export const baseURL = setting("BASE_URL");
export const apiKey = setting("API_KEY");
export const picture = setting("PICTURE");
export const longQuestion = setting("LONG_QUESTION");

export const model = "sandbox/chat";
export const visionModel = "sandbox/chat-vision";
export const question = "Is the sea blue?";
export const toolQuestion = "What is the weather like in Paris today?";
export const toolAnswer = "18 degrees and sunny";
export const personQuestion = "Meet Jane, who is 54.";
export const pictureQuestion = "What is in this picture?";

export const weather = { name: "get_weather", description: "The weather of a city" } as const;

export function report(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
