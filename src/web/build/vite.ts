import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import type { InlineConfig, Plugin } from 'vite';

const ROOT = join(import.meta.dirname, '..');

/** Output folder of the build. `src/server/pages/chat.ts` serves the page from it. */
export const BUILT = join(ROOT, '../generated/web');

/** Plugin that keeps only the WOFF2 files of the formula fonts, which all current browsers read. Other formats add 0.7 MB. */
const oneFontFormat: Plugin = {
  name: 'one-font-format',
  enforce: 'pre',
  transform(code, id) {
    if (!/katex.*\.css/.test(id)) return undefined;
    return code.replaceAll(/,\s*url\([^)]+\.(?:woff|ttf)\)\s*format\("[^"]+"\)/g, '');
  },
};

/** Configuration of the build and of the development server. */
export const viteConfig: InlineConfig = {
  configFile: false,
  root: ROOT,
  plugins: [oneFontFormat, react()],
  logLevel: 'warn',
  build: {
    outDir: BUILT,
    emptyOutDir: true,
    target: 'baseline-widely-available',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // All modules of the first view are one chunk. Otherwise those that later chunks import too are in many small chunks.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
    chunkSizeWarningLimit: 1_000,
  },
};
