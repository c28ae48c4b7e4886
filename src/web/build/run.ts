// The second half of npm run generate: builds the page into src/generated/web from this folder and schema.graphql.
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'vite';
import { writeDocuments } from './documents.ts';
import { writeInstallable } from './installable.ts';
import { BUILT, viteConfig } from './vite.ts';

const [brotli, zip] = [promisify(brotliCompress), promisify(gzip)];

/** Writes compressed copies beside a file, so that the service does not compress it for each request. */
async function compress(file: string): Promise<void> {
  const bytes = readFileSync(file);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(`${file}.br`, await brotli(bytes, { params }));
  writeFileSync(`${file}.gz`, await zip(bytes, { level: 9 }));
}

const since = performance.now();
await writeDocuments();
await build(viteConfig);
await writeInstallable();
const texts = globSync('**/*.{html,js,css,svg,json,webmanifest}', { cwd: BUILT }).map((file) => join(BUILT, file));
await Promise.all(texts.map(compress));
// The scripts that the HTML file references. The first view waits for all of them.
const first = [...readFileSync(join(BUILT, 'index.html'), 'utf8').matchAll(/"\/(assets\/[^"]+\.js)"/g)].map(
  ([, file]) => statSync(join(BUILT, `${file}.br`)).size,
);
const [seconds, kB] = [(performance.now() - since) / 1000, first.reduce((sum, size) => sum + size, 0) / 1000];
console.log(`built the page in ${BUILT}: ${seconds.toFixed(1)} s, ${kB.toFixed(0)} kB of initial JavaScript`);
