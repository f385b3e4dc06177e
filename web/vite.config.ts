// One page, three files.  Everything is small: nothing is worth loading later, and no
// asset is put into another one, since the page's policy allows no inline script.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  // `npx vite` while one works on the page: the figures are a running coordinator's.
  server: { proxy: { "/api": process.env["ROAR_HTTP"] ?? "http://127.0.0.1:51051" } },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
