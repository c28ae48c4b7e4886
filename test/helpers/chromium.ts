import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PATH = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

export const hasChromium = PATH !== undefined;
/** Suffix for the titles of skipped tests. Empty if Chromium is installed. */
export const CHROMIUM_NOTE = hasChromium ? '' : ': skipped, for there is no Chromium in /usr/bin';

/** Starts Chromium. @param flags Added to the default flags. */
export const launchChromium = (flags: readonly string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath: PATH ?? '', args: [...FLAGS, ...flags] });
