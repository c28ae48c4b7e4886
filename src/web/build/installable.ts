import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { build } from 'vite';
import { BUILT, viteConfig } from './vite.ts';

const ROOT = join(import.meta.dirname, '..');
/** Background of the icon that systems cut to their own shape. */
const BACKGROUND = '#0b6e4f';

/** Writes the further files of an installed application: the icons of the manifest, and the service worker. */
export async function writeInstallable(): Promise<void> {
  await Promise.all([writeIcons(), writeWorker()]);
}

async function writeIcons(): Promise<void> {
  const icon = readFileSync(join(ROOT, 'app/icon.svg'));
  const at = (size: number, svg = icon) => sharp(svg, { density: size * 6 }).resize(size, size);
  for (const size of [192, 512])
    await at(size)
      .png()
      .toFile(join(BUILT, `icon-${size}.png`));
  // Only the middle of this icon is visible on all systems.
  const white = Buffer.from(icon.toString().replaceAll(BACKGROUND, '#ffffff'));
  const middle = await at(256, white).png().toBuffer();
  await sharp({ create: { width: 512, height: 512, channels: 4, background: BACKGROUND } })
    .composite([{ input: middle }])
    .png()
    .toFile(join(BUILT, 'icon-maskable.png'));
}

async function writeWorker(): Promise<void> {
  const files = globSync('assets/*.{js,css}', { cwd: BUILT }).map((file) => `/${file.replaceAll('\\', '/')}`);
  await build({
    ...viteConfig,
    publicDir: false,
    define: { __PAGE_FILES__: JSON.stringify(files.sort()) },
    build: {
      outDir: BUILT,
      emptyOutDir: false,
      target: 'baseline-widely-available',
      rolldownOptions: {
        input: join(ROOT, 'worker/service-worker.ts'),
        output: { format: 'iife', entryFileNames: 'service-worker.js' },
      },
    },
  });
}
