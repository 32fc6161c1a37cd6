// The recipes of CONTRIBUTING.md, as edits of files. Each recipe edits only files that its row there names.
// The edits are small examples: a test applies them to a copy of the repository.
import { after, before, type Recipe } from "./edit.ts";
import { providerRecipe } from "./provider-recipe.ts";

const ERROR_ROW = "| `recipe_failed` | 503 | `internal_error` | `recipe_failed` | helps |";

export const recipes: readonly Recipe[] = [
  {
    adds: "an error",
    edits: [
      before(
        "proto/src/error-table.ts",
        "  provider_timeout: {\n",
        `  recipe_failed: {
    rpc: Code.Unavailable,
    status: 503,
    type: "internal_error",
    code: "recipe_failed",
    retry: "helps",
  },
`,
      ),
      before(
        "docs/errors.md",
        "| `provider_timeout` | 504",
        `${ERROR_ROW} The recipe of a test failed. | Try the recipe again. |\n`,
      ),
    ],
  },
  {
    adds: "a setting",
    edits: [
      before(
        "services/keys/src/config.ts",
        "  MAX_KEYS_PER_ACCOUNT: ",
        '  MAX_KEYS_OF_RECIPE: z.coerce.number().int().default(3).describe("keys of a recipe"),\n',
      ),
    ],
  },
  {
    adds: "a REST route",
    edits: [
      {
        file: "services/keys/src/api/rest.ts",
        change: (text) =>
          `${text.replace("return { routes: [", "return { routes: [recipeRoute(), ")}
const recipeRoute = () =>
  restRoute({
    method: "GET",
    path: "/v1/recipe",
    summary: "A route of a test",
    access: normalKey,
    responses: {
      200: { description: "The recipe", schema: z.object({ recipe: z.literal(true) }) },
      401: refusals[401],
    },
    handle: async () => ({ recipe: true as const }),
  });
`,
      },
      before(
        "gateway/src/routes.ts",
        '  { prefix: "/v1/auth", ',
        '  { prefix: "/v1/recipe", module: "keys", access: "normal", ...other },\n',
      ),
      before(
        "test/prices/every-route.test.ts",
        '  "GET /v1/credits": ',
        '  "GET /v1/recipe": ["/v1/recipe"],\n',
      ),
    ],
  },
  {
    adds: "a page of the console",
    edits: [
      {
        file: "apps/console/src/pages/account/recipe.tsx",
        change: () => `// A page that shows one sentence.
import { Text } from "@mantine/core";

export function Recipe() {
  return <Text>This page is a recipe.</Text>;
}
`,
      },
      before(
        "apps/console/src/app-router.tsx",
        "const newAccount = ",
        'const recipe = lazyRouteComponent(() => import("./pages/account/recipe.tsx"), "Recipe");\n',
      ),
      before(
        "apps/console/src/app-router.tsx",
        '    open("/new-account"',
        '    open("/recipe", "Recipe", recipe),\n',
      ),
    ],
  },
  {
    adds: "a route of the console",
    edits: [
      before(
        "packages/console-api/src/console-routes.ts",
        "  listMembers: {\n",
        `  readRecipe: {
    method: "GET",
    path: "/console/api/accounts/:account/recipe",
    access: "viewer",
    summary: "The recipe of a test",
    answer: z.object({ recipe: z.literal(true) }),
  },
`,
      ),
      before(
        "services/console/src/routes/account/member-routes.ts",
        '  | "listMembers"\n',
        '  | "readRecipe"\n',
      ),
      before(
        "services/console/src/routes/account/member-routes.ts",
        "    listMembers: async",
        "    readRecipe: async () => ({ recipe: true as const }),\n",
      ),
      before(
        "docs/console-api.md",
        "| `GET /console/api/accounts/:account/members` |",
        "| `GET /console/api/accounts/:account/recipe` | viewer | The recipe of a test |\n",
      ),
    ],
  },
  {
    adds: "an RPC",
    edits: [
      after(
        "proto/router/keys/v1/keys.proto",
        "service KeysService {\n",
        "  // Returns the recipe of a test.\n  rpc ReadRecipe(ReadRecipeRequest) returns (ReadRecipeResponse);\n",
      ),
      before(
        "proto/router/keys/v1/keys.proto",
        "message VerifyKeyRequest {",
        "message ReadRecipeRequest {}\n\nmessage ReadRecipeResponse {\n  string recipe = 1;\n}\n\n",
      ),
      before(
        "services/keys/src/api/rpc.ts",
        "    async issueWebToken(",
        '    async readRecipe() {\n      return { recipe: "a" };\n    },\n',
      ),
      before("gateway/src/test/fake-keys.ts", "      issueWebToken: ", "      readRecipe: unused,\n"),
    ],
  },
  {
    adds: "a model or a price",
    edits: [
      {
        file: "services/catalog/seed/stability.json",
        change: (text) => text.replace(/(stability\/sd3\.5-flash"[\s\S]*?"usd": ")0\.025"/, '$10.026"'),
      },
      {
        file: "services/catalog/src/test/golden-prices.ts",
        change: (text) =>
          text.replace(
            '["stability/sd3.5-flash", "1024x1024", "0.025", "720x1680", 3, 2, "0.075"]',
            '["stability/sd3.5-flash", "1024x1024", "0.026", "720x1680", 3, 2, "0.078"]',
          ),
      },
    ],
  },
  providerRecipe,
];
