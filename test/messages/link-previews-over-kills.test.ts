import { expect, test } from 'vitest';
import { embedsIn } from '../../src/markdown/embeds.ts';
import { createOrganization, startServer } from '../helpers/server.ts';
import { startWebsite } from '../helpers/website.ts';

test('a preview appears once although the process is killed before and while its page is read', async () => {
  await using website = await startWebsite();
  await using server = await startServer();
  const { owner } = await createOrganization({}, { on: server });
  await owner.ok('PATCH', '/realm', { inline_url_embed_preview: true });
  const { queue_id, last_event_id } = await owner.register({ event_types: ['update_message'] });
  const arrived = Promise.withResolvers<void>();
  let isHeld = true;
  const held = website.serve('/held', (_, response) => {
    arrived.resolve();
    if (!isHeld) response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>Held</title>');
  });
  const other = website.file('/other', 'text/html', '<title>Other</title>');
  const send = async (content: string): Promise<number> =>
    (await owner.ok('POST', '/messages', { type: 'direct', to: [owner.id], content })).id;
  const first = await send(held);
  await arrived.promise;
  // Acknowledged immediately before the kill: most likely not queued.
  const second = await send(other);
  await server.kill9();
  isHeld = false;
  await server.restart();
  const titles = async (id: number) => {
    const { message } = await owner.ok('GET', `/messages/${id}`, {});
    return embedsIn(message.content).map(({ title }) => title);
  };
  await expect.poll(() => titles(first), { timeout: 120_000 }).toEqual(['Held']);
  await expect.poll(() => titles(second), { timeout: 120_000 }).toEqual(['Other']);
  const { events } = await owner.ok('GET', '/events', { queue_id, last_event_id, dont_block: true });
  const ids = events.flatMap(({ type, message_id }: { type: string; message_id: number }) =>
    type === 'update_message' ? [message_id] : [],
  );
  expect(ids.toSorted((a: number, b: number) => a - b)).toEqual([first, second]);
}, 300_000);
