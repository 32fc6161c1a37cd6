// Code groups decide the scripts of the build: a few large ones for the first pages, since each small script has a head of its own.
// A group has the modules that its test names, and all modules that these import, without those of groups above it.

/** Name of the group of the application without its pages. */
export const APPLICATION = "all-pages";
/** Bytes of modules that some pages share: fewer join their neighbours. */
const SMALL = 12_000;

/** Parts that several pages load, each apart from the others: a page without menus loads no menus. First ones win. */
const SHARED_PARTS = [
  ["fields", /\/components\/(?:TextInput|PasswordInput)\/|\/CheckIcon\.mjs$/],
  ["forms", /\/@mantine\/form\/|\/klona\/|\/fast-deep-equal\/|\/src\/parts\/forms\/field-errors\.ts$/],
  ["account", /\/src\/(?:layout\/account-frame|pages\/account\/home\/home)\.tsx$/],
  ["rules", /\/zod\/|\/packages\/console-api\/|\/src\/parts\/forms\/form-rules\.ts$/],
  [
    "layers",
    /\/(?:use-focus-trap|use-focus-return|FocusTrap|Overlay|Portal|create-scoped-keydown-handler)\//,
  ],
  ["tabs", /\/components\/Tabs\//],
  ["switches", /\/components\/Switch\//],
  ["checks", /\/components\/Checkbox\//],
  ["dialogs", /\/components\/(?:Modal|ModalBase)\/|\/src\/parts\/dialogs\/ask-first\.tsx$/],
  ["drawers", /\/components\/Drawer\//],
  ["popovers", /\/@floating-ui\/|\/components\/Popover\//],
  ["choices", /\/components\/Select\//],
  ["limits", /\/components\/Chip\/|\/src\/parts\/forms\/limit-fields\.tsx$/],
  ["menus", /\/components\/Menu\//],
  ["tips", /\/components\/Tooltip\//],
  ["markdown", /\/src\/parts\/markdown\.tsx$/],
  ["filters", /\/src\/parts\/filters\/(?:filter-chips|time-filter)\.tsx$/],
] as const;

export const CODE_GROUPS = [
  // Boot needs these parts before all others.
  { name: "preload", test: /preload-helper|\/src\/api\/early-answers\.ts$/, priority: 100 },
  {
    name: APPLICATION,
    // Each page changes something, and the sign-in page and fields share some small parts with Home.
    test: /\/src\/(?:main|api\/request-paths|parts\/forms\/act)\.tsx?$|\/(?:Paper|IconX|IconCheck|use-uncontrolled|use-resolved-styles-api)\.mjs$/,
    priority: 99,
  },
  ...SHARED_PARTS.map(([name, test], place) => ({ name, test, priority: 50 - place })),
  // Home of a new account shows code.
  { name: "samples", test: /\/src\/parts\/forms\/samples\.tsx$/, priority: 1 },
  {
    ...{
      name: "parts",
      priority: 0,
      minShareCount: 2,
      entriesAware: true,
      entriesAwareMergeThreshold: SMALL,
    },
    // Styles are in files of their own.
    test: (id: string) => !/\.css$|-styles\.ts$/.test(id),
  },
];
