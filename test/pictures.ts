// npm run pictures -- FOLDER [--only="inbox,new channel"]: makes pictures of every view and dialog of the chat, with data of the demo,
// in light and dark at three widths. The folder then has one subfolder for each look.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { DemoChat } from './helpers/web.ts';
import { DIALOGS, fillPlaces, show, VIEWS } from './helpers/web-places.ts';

const { positionals, values } = parseArgs({ allowPositionals: true, options: { only: { type: 'string' } } });
const [folder] = positionals;
if (folder === undefined) throw new Error('The folder for the pictures is missing: npm run pictures -- FOLDER');
const ALL = [...VIEWS, ...DIALOGS];
const chosen = values.only?.split(',').map((name) => name.trim());
const unknown = chosen?.filter((name) => !ALL.some((one) => one === name)) ?? [];
if (unknown.length > 0) throw new Error(`--only accepts ${ALL.join(', ')}, not ${unknown.join(', ')}`);

const SIZES = [
  { width: 1440, height: 900 },
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];

await using chat = new DemoChat();
await chat.start();
await fillPlaces({ person: chat.person('owner') }, chat.person('moderator'));
let count = 0;
for (const colorScheme of ['light', 'dark'] as const) {
  for (const viewport of SIZES) {
    const place = join(folder, `${colorScheme}-${viewport.width}`);
    await mkdir(place, { recursive: true });
    await using chatter = await chat.enter('owner', { viewport, colorScheme });
    for (const name of ALL.filter((one) => chosen === undefined || chosen.includes(one))) {
      await show(chatter, name);
      const path = join(place, `${name.replaceAll(/[^\p{L}\p{N}]+/gu, '-').toLowerCase()}.png`);
      await chatter.page.screenshot({ path, animations: 'disabled' });
      count++;
    }
    console.log(`${place}: ${count} pictures so far`);
  }
}
