// The recipe of a provider. It creates an adapter with pictures behind links, a test, a fixture and a definition.
// It extends the lists, the manifest of the service and the documents.
import { after, before, type Edit, type Recipe } from "./edit.ts";

const PROVIDERS = "services/media-generation/src/providers";

const created = (name: string, text: string): Edit => ({
  file: `${PROVIDERS}/recipe/${name}`,
  change: () => text,
});

const ADAPTER = `// The adapter of a recipe: one request, and one answer with links to its pictures.
import { z } from "zod";
import { deliveredPictures } from "../delivered-pictures.ts";
import type { Outbound } from "../outbound.ts";
import type { ImageJob, MediaProvider, Progress } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import { createProviderHttp } from "../provider-http.ts";

export const RECIPE = "recipe";

const imagesSchema = z.object({ images: z.array(z.object({ url: z.string().min(1) })) });
const errorSchema = z.object({ error: z.string() });

export interface RecipeOptions {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly outbound: Outbound;
}

export function createRecipeProvider({ apiKey, baseUrl, outbound }: RecipeOptions): MediaProvider {
  const credentials = { authorization: \`Bearer \${apiKey}\` };
  const http = createProviderHttp({ name: RECIPE, baseUrl, secret: apiKey, credentials, outbound });

  async function submit(job: ImageJob, signal: AbortSignal): Promise<Progress> {
    const json = { model: job.model, prompt: job.prompt, count: job.count, ...job.fields };
    const headers = { "x-request-id": job.requestId };
    const answer = await http.send("submit", { method: "POST", to: "/images", headers, json }, signal);
    if (answer.status !== 200) {
      throw http.failure("submit", answer, errorSchema.safeParse(answer.json()).data?.error);
    }
    const pictures = deliveredPictures(RECIPE, imagesSchema.safeParse(answer.json()).data?.images, job.count);
    return { state: "succeeded", artifacts: pictures.map(({ url }) => ({ url, type: "image/png" })) };
  }

  return {
    name: RECIPE,
    kinds: { image: { mostAtOnce: 2, submit } },
    poll: async () => {
      throw new ProviderError("failed", "recipe: its jobs end with their submission", { accepted: true });
    },
    cancel: async () => undefined,
  };
}
`;

const DEFINITION = `// The definition of a recipe's provider, for the operator's settings.
import { z } from "zod";
import { baseUrl, defineProvider } from "../provider-definition.ts";
import { createRecipeProvider, RECIPE } from "./recipe-provider.ts";

export const recipe = defineProvider({
  name: RECIPE,
  abilities: ["image"],
  reports: { image: "nothing" },
  settings: z.object({
    RECIPE_API_KEY: z.string().optional().describe("switches the image models of a recipe on"),
    RECIPE_BASE_URL: baseUrl("https://recipe.example/v1"),
  }),
  credential: "RECIPE_API_KEY",
  baseUrls: { RECIPE_BASE_URL: {} },
  create: ({ secret, settings, outbound }) =>
    createRecipeProvider({ apiKey: secret, baseUrl: settings.RECIPE_BASE_URL, outbound }),
});
`;

const TEST = `// The wire format of a recipe's provider: the conformance suite over it.
import { readFile } from "node:fs/promises";
import { jobOf } from "../../test/adapter-bench.ts";
import { describeConformance } from "../../test/conformance.ts";
import type { ImageJob } from "../provider.ts";
import { createRecipeProvider } from "./recipe-provider.ts";

const images = JSON.parse(await readFile(new URL("./fixtures/images.json", import.meta.url), "utf8"));

describeConformance({
  name: "recipe",
  create: ({ secret, ...rest }) => createRecipeProvider({ apiKey: secret, ...rest }),
  job: jobOf<ImageJob>("image"),
  submitted: (_made, links) => ({
    status: 200,
    body: { images: links.map((url) => ({ ...images.images[0], url })) },
  }),
  invalid: (message) => ({ status: 400, body: { error: message } }),
});
`;

export const providerRecipe: Recipe = {
  adds: "a provider of images or videos",
  edits: [
    created("recipe-provider.ts", ADAPTER),
    created("recipe-provider.test.ts", TEST),
    created("recipe-definition.ts", DEFINITION),
    created("fixtures/images.json", '{ "images": [{ "url": "https://recipe.example/1.png" }] }\n'),
    before(
      `${PROVIDERS}/media-providers.ts`,
      'import { replicate } from "',
      'import { recipe } from "./recipe/recipe-definition.ts";\n',
    ),
    after(`${PROVIDERS}/media-providers.ts`, "  openRouter,\n", "  recipe,\n"),
    after(
      "docs/operations.md",
      "| openrouter | 1 at once; reports cost | reports cost | yes | – | – |\n",
      "| recipe | 2 at once; reports nothing | – | – | – | – |\n",
    ),
    before(
      "deploy/base/media-generation.yaml",
      "            - name: OPENAI_API_KEY\n",
      `            - name: RECIPE_API_KEY
              valueFrom: { secretKeyRef: { name: router-upstreams, key: RECIPE_API_KEY, optional: true } }
`,
    ),
  ],
};
