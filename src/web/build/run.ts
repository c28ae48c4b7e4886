// The second half of npm run generate: makes the page in src/generated/web, out of this folder and schema.graphql.
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'vite';
import { writeDocuments } from './documents.ts';
import { BUILT, viteConfig } from './vite.ts';

const [brotli, zip] = [promisify(brotliCompress), promisify(gzip)];

/** Beside each file that gets smaller by it, the same compressed: nobody compresses it again for each visitor. */
async function compress(file: string): Promise<void> {
  const bytes = readFileSync(file);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(`${file}.br`, await brotli(bytes, { params }));
  writeFileSync(`${file}.gz`, await zip(bytes, { level: 9 }));
}

const since = performance.now();
await writeDocuments();
await build(viteConfig);
const texts = globSync('**/*.{html,js,css,svg,json}', { cwd: BUILT }).map((file) => join(BUILT, file));
await Promise.all(texts.map(compress));
// What the page itself names: all that the first view waits for.
const first = [...readFileSync(join(BUILT, 'index.html'), 'utf8').matchAll(/"\/(assets\/[^"]+\.js)"/g)].map(
  ([, file]) => statSync(join(BUILT, `${file}.br`)).size,
);
const [seconds, kB] = [(performance.now() - since) / 1000, first.reduce((sum, size) => sum + size, 0) / 1000];
console.log(`made the page in ${BUILT}: ${seconds.toFixed(1)} s, ${kB.toFixed(0)} kB of JavaScript at first`);
