import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import type { InlineConfig, Plugin } from 'vite';

const ROOT = join(import.meta.dirname, '..');

/** Where the built page is: `src/server/pages/chat.ts` serves it from there. */
export const BUILT = join(ROOT, '../generated/web');

/** Of each font of the formulas the format that every browser of today reads: the others are two thirds of a megabyte. */
const oneFontFormat: Plugin = {
  name: 'one-font-format',
  enforce: 'pre',
  transform(code, id) {
    if (!/katex.*\.css/.test(id)) return undefined;
    return code.replaceAll(/,\s*url\([^)]+\.(?:woff|ttf)\)\s*format\("[^"]+"\)/g, '');
  },
};

/** How the page is built, and served while somebody works on it. */
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
  },
};
