import { defineConfig } from "vitest/config";

/** The built program is committed, so its files have names that do not change with their content. */
export default defineConfig({
  build: {
    outDir: "../src/long_running_agents/web/static",
    emptyOutDir: true,
    target: "es2022",
    // Inlined data would need a looser policy for images than the server sends.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    rollupOptions: {
      output: {
        entryFileNames: "assets/[name].js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
