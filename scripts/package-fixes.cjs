// What pnpm cannot be told in pnpm-workspace.yaml. openapi-typescript writes TypeScript with the compiler's old programming
// interface, which TypeScript 7 no longer has: it gets an older compiler of its own, and nobody else does.
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
