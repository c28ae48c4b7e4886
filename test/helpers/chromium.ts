import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PATH = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

export const hasChromium = PATH !== undefined;
/** For the title of what is skipped. */
export const CHROMIUM_NOTE = hasChromium ? '' : ': skipped, for there is no Chromium in /usr/bin';

/** @param flags On top of the usual ones. */
export const launchChromium = (flags: readonly string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath: PATH ?? '', args: [...FLAGS, ...flags] });
