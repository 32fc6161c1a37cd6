// Code groups decide the scripts of the build: a few large ones for the first pages, since each small script has a head of its own.
// A group has the modules that its test names, and all modules that these import, without those of groups above it.

/** Name of the group of the application without its pages. */
export const APPLICATION = "all-pages";
/** Bytes of modules that some pages share: fewer join their neighbours. */
const SMALL = 12_000;

export const CODE_GROUPS = [
  // Boot needs this part of the builder before all others.
  { name: "preload", test: /preload-helper/, priority: 5 },
  { name: APPLICATION, test: /\/src\/main\.tsx$/, priority: 4 },
  { name: "forms", test: /\/src\/pages\/sign-in\/sign-in\.tsx$/, priority: 3 },
  { name: "account", test: /\/src\/(?:layout\/account-frame|pages\/account\/home\/home)\.tsx$/, priority: 2 },
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
    // Only forms check rules, and styles are in files of their own.
    test: (id: string) => !/\/zod\/|\.css$|-styles\.ts$/.test(id),
  },
];
