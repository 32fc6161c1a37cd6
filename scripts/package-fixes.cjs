// This hook of pnpm owns the settings that pnpm-workspace.yaml cannot express. openapi-typescript needs the old programming
// interface of TypeScript's compiler, which TypeScript 7 no longer has. So it alone gets an older compiler of its own.
module.exports = {
  hooks: {
    readPackage(manifest) {
      if (manifest.name !== "openapi-typescript") return manifest;
      const { typescript: _, ...peerDependencies } = manifest.peerDependencies;
      return {
        ...manifest,
        peerDependencies,
        dependencies: { ...manifest.dependencies, typescript: "5.9.3" },
      };
    },
  },
};
