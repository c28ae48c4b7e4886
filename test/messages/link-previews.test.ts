import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { embedPlaces, embedsIn, withEmbeds, withoutEmbeds } from '../../src/markdown/embeds.ts';
import { readPage } from '../../src/messages/link-previews/page.ts';
import { pagesAt } from '../../src/messages/link-previews/pages.ts';
import { giveUpJobs } from '../../src/messages/link-previews/queue.ts';
import { RequestTimeoutError } from '../../src/platform/errors.ts';
import { OutgoingLimiter } from '../../src/platform/outgoing-limiter.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { download, PNG } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';
import { channelOf } from '../helpers/talk.ts';
import { endless, startWebsite, type Website } from '../helpers/website.ts';

let service: InProcess;
let website: Website;

beforeAll(async () => {
  [service, website] = await Promise.all([startOnDatabaseOfRun(), startWebsite()]);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await website[Symbol.asyncDispose]();
});

/** Creates an organization that shows previews of pages. */
async function organization() {
  const created = await createOrganization({}, { on: service });
  await created.owner.ok('PATCH', '/realm', { inline_url_embed_preview: true });
  return created;
}

const send = async (by: Person, content: string): Promise<number> =>
  (await by.ok('POST', '/messages', { type: 'direct', to: [by.id], content })).id;
const contentOf = async (by: Person, id: number): Promise<string> =>
  (await by.ok('GET', `/messages/${id}`, {})).message.content;

/** Waits until all messages were queued and all jobs are done. */
async function settle({ id }: { readonly id: number }): Promise<void> {
  const { db } = service.app;
  const where = { organizationId: id };
  const isDone = async () => {
    await service.previewing.run();
    await service.previewing.idle();
    const counter = await db.eventCounter.findUniqueOrThrow({ where });
    const progress = await db.linkPreviewProgress.findUnique({ where });
    return (
      (progress === null || progress.throughId >= counter.lastId) && (await db.linkPreviewJob.count({ where })) === 0
    );
  };
  await expect.poll(isDone, { timeout: 60_000 }).toBe(true);
}

const organizationOf = async ({ id }: Person) => {
  const user = await service.app.db.user.findFirstOrThrow({ where: { id }, select: { organizationId: true } });
  return { id: user.organizationId };
};
const settled = async (by: Person) => settle(await organizationOf(by));

const page = (title: string, more = '') => `<!doctype html><title>${title}</title>${more}`;

/** A page that responds only when it is released. */
function held(path: string, body: string) {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const url = website.serve(path, (_, response) => {
    arrived.resolve();
    void released.promise.then(() => response.writeHead(200, { 'Content-Type': 'text/html' }).end(body));
  });
  return { url, arrived: arrived.promise, release: released.resolve };
}

test('a page is read once, and its preview reaches every API by one event', async () => {
  const { owner, member } = await organization();
  const image = website.file('/card.jpg', 'image/png', PNG);
  const meta =
    '<meta property="og:title" content="Tides &amp; moons"><meta property="og:description" content="When to <sail>">' +
    '<meta property="og:image" content="/card.jpg">';
  const url = website.file('/tides', 'text/html; charset=utf-8', page('Other title', meta));
  const events = await member.receiving({ event_types: ['update_message'] });
  const content = `See ${url} and ${url}`;
  const { id } = await owner.ok('POST', '/messages', { type: 'direct', to: [member.id], content });
  await settled(member);
  const html = await contentOf(member, id);
  const [, address = ''] = /url\(&quot;(\/external_content\/[\w-]+\/[0-9a-f]+)&quot;\)/.exec(html) ?? [];
  expect(html).toBe(
    `<p>See <a href="${url}">${url}</a> and <a href="${url}">${url}</a></p>\n<div class="message_embed">` +
      `<a class="message_embed_image" href="${url}" style="background-image: url(&quot;${address}&quot;)"></a>` +
      `<div class="data-container"><div class="message_embed_title"><a href="${url}" title="Tides &amp; moons">` +
      'Tides &amp; moons</a></div><div class="message_embed_description">When to &lt;sail&gt;</div></div></div>',
  );
  expect(Buffer.from(address.split('/')[3] ?? '', 'hex').toString()).toBe(image);
  expect((await download(member, address)).bytes).toEqual(PNG);
  expect(await events()).toEqual([
    expect.objectContaining({
      ...{ type: 'update_message', user_id: null, rendering_only: true, message_id: id, message_ids: [id] },
      ...{ content, rendered_content: html },
    }),
  ]);
  const query =
    'query ($id: ID!) { message(by: { id: $id }) { lastEditedAt links { url } linkPreviews { url title description imageUrl } } }';
  const { message } = await member.query(query, { id: globalId('Message', id) });
  expect(message).toEqual({
    lastEditedAt: null,
    links: [{ url }, { url }],
    linkPreviews: [
      { url, title: 'Tides & moons', description: 'When to <sail>', imageUrl: expect.stringContaining(address) },
    ],
  });
  // A second message is answered from the stored page.
  const second = await send(member, url);
  await settled(member);
  expect(embedsIn(await contentOf(member, second))).toHaveLength(1);
  expect(website.count('/tides')).toBe(1);
});

test('organizations without the setting, bots and earlier messages have no previews', async () => {
  const { owner, member, bot } = await createOrganization({}, { on: service });
  const url = website.file('/none', 'text/html', page('None'));
  const before = await send(member, url);
  await settled(member);
  await owner.ok('PATCH', '/realm', { inline_url_embed_preview: true });
  const after = await send(member, website.file('/after', 'text/html', page('After')));
  await settled(member);
  expect(await contentOf(member, before)).not.toContain('message_embed');
  expect(embedsIn(await contentOf(member, after))).toHaveLength(1);
  expect(website.count('/none')).toBe(0);
  const ofBot = await send(bot, url);
  await settled(member);
  expect(await contentOf(bot, ofBot)).not.toContain('message_embed');
  expect(website.count('/none')).toBe(0);
});

describe('changes while a page is read', () => {
  test('an edit is kept, and gets the previews of its own links', async () => {
    const { member } = await organization();
    const slow = held('/slow-edit', page('Slow'));
    const quick = website.file('/quick', 'text/html', page('Quick'));
    const id = await send(member, slow.url);
    const settling = settled(member);
    await slow.arrived;
    await member.ok('PATCH', `/messages/${id}`, { content: `changed ${quick}` });
    slow.release();
    await settling;
    const html = await contentOf(member, id);
    expect(withoutEmbeds(html)).toBe(`<p>changed <a href="${quick}">${quick}</a></p>`);
    expect(embedsIn(html).map(({ title }) => title)).toEqual(['Quick']);
    await member.ok('PATCH', `/messages/${id}`, { content: 'no link' });
    await settled(member);
    expect(await contentOf(member, id)).toBe('<p>no link</p>');
  });

  test('a deleted message stays deleted, and has no event', async () => {
    const { owner } = await organization();
    const slow = held('/slow-delete', page('Slow'));
    const id = await send(owner, slow.url);
    const events = await owner.receiving({ event_types: ['update_message', 'delete_message'] });
    const settling = settled(owner);
    await slow.arrived;
    await owner.ok('DELETE', `/messages/${id}`);
    slow.release();
    await settling;
    expect((await events()).map(({ type }) => type)).toEqual(['delete_message']);
    expect((await owner.rest('GET', `/messages/${id}`)).status).toBe(400);
  });

  test('a moved message gets its previews in the new topic', async () => {
    const { owner } = await organization();
    const channel = await channelOf(owner, 'moves', [owner]);
    const slow = held('/slow-move', page('Slow'));
    const message = { type: 'channel', to: channel, topic: 'before', content: slow.url };
    const { id } = await owner.ok('POST', '/messages', message);
    const settling = settled(owner);
    await slow.arrived;
    await owner.ok('PATCH', `/messages/${id}`, { topic: 'after' });
    slow.release();
    await settling;
    const { message: moved } = await owner.ok('GET', `/messages/${id}`, {});
    expect(moved.subject).toBe('after');
    expect(embedsIn(moved.content)).toHaveLength(1);
  });
});

test('pages that cannot be read have no preview, and take no further requests', async () => {
  const { member } = await organization();
  const big = Buffer.concat([Buffer.from(page('Large')), Buffer.alloc(100_000, ' ')]);
  const urls = {
    missing: `${website.url}/nowhere`,
    untitled: website.file('/untitled', 'text/html', '<p>Text</p>'),
    picture: website.file('/picture', 'image/png', PNG),
    text: website.file('/text', 'text/plain', page('Text')),
    metadata: website.serve('/moved', (_, response) =>
      response.writeHead(302, { Location: 'http://169.254.169.254/' }).end(),
    ),
    loop: website.serve('/loop', (_, response) => response.writeHead(302, { Location: '/loop' }).end()),
    large: website.serve('/large', endless('text/html', big)),
  };
  const id = await send(member, Object.values(urls).join(' '));
  await settled(member);
  // The title of a page without end is at its beginning.
  expect(embedsIn(await contentOf(member, id)).map(({ url }) => url)).toEqual([urls.large]);
  const requests = website.requests.length;
  await send(member, `again ${Object.values(urls).join(' ')}`);
  await settled(member);
  expect(website.requests.length).toBe(requests);
});

test('a page that is not requested under overload is not stored as one without a preview', async () => {
  const { organization: at } = await organization();
  const { db } = service.app;
  await using other = await startWebsite();
  const refused = website.file('/refused', 'text/html', page('Refused'));
  const urls = [other.file('/read', 'text/html', page('Read')), refused];
  const limiter = new OutgoingLimiter(16);
  const released = Promise.withResolvers<void>();
  // Uses all permits of the organization for the host, and fills its queue of waiting requests.
  const others = Array.from({ length: 54 }, () =>
    limiter.run({ organizationId: at.id, url: refused }, () => released.promise),
  );
  const read = () => pagesAt(service.app, { limiter, signal: new AbortController().signal }, at.id, urls);
  await expect(read()).rejects.toThrow(RequestTimeoutError);
  const rows = () => db.linkPreview.findMany({ where: { organizationId: at.id }, select: { title: true } });
  expect(await rows()).toEqual([{ title: 'Read' }]);
  released.resolve();
  await Promise.all(others);
  expect([...(await read()).values()].map(({ title }) => title)).toEqual(['Read', 'Refused']);
});

describe('organizations do not depend on each other', () => {
  test('pages that do not respond hold up only the previews of their organization', async () => {
    const [busy, other] = [await organization(), await organization()];
    const slow = Array.from({ length: 24 }, (_, i) => held(`/slow-${i}`, page('Slow')));
    for (const { url } of slow) await send(busy.owner, url);
    await service.previewing.run();
    await Promise.any(slow.map(({ arrived }) => arrived));
    const id = await send(other.member, website.file('/of-other', 'text/html', page('Other')));
    const embeds = async () => {
      await service.previewing.run();
      return embedsIn(await contentOf(other.member, id)).map(({ title }) => title);
    };
    await expect.poll(embeds, { timeout: 8_000 }).toEqual(['Other']);
    for (const { release } of slow) release();
    await settle(busy.organization);
  });

  test('a log that cannot be read holds up only its organization', async () => {
    const [broken, other] = [await organization(), await organization()];
    await send(broken.owner, website.file('/of-broken', 'text/html', page('Broken')));
    await settle(broken.organization);
    const where = { organizationId: broken.organization.id };
    const { db } = service.app;
    await db.event.updateMany({ where: { ...where, type: 'message' }, data: { payload: { id: 'no number' } } });
    await db.linkPreviewProgress.updateMany({ where, data: { throughId: 0 } });
    const id = await send(other.member, website.file('/beside-broken', 'text/html', page('Beside')));
    await settle(other.organization);
    expect(embedsIn(await contentOf(other.member, id))).toHaveLength(1);
    expect((await db.linkPreviewProgress.findUniqueOrThrow({ where })).throughId).toBe(0n);
    await db.event.deleteMany({ where: { ...where, type: 'message' } });
    await settle(broken.organization);
  });
});

test('previews are added while an organization is copied to another database, and not while the copies are compared', async () => {
  const { member, organization: at } = await organization();
  const { db } = service.app;
  const url = website.file('/while-moving', 'text/html', page('Moving'));
  await db.$executeRaw`
    INSERT INTO realm_move (realm_id, subdomain, state, place, move_id, at)
    VALUES (${at.id}, ${at.subdomain}, 'leaving', 'elsewhere', ${randomUUID()}::uuid, now())`;
  const copied = await send(member, url);
  await settle(at);
  expect(embedsIn(await contentOf(member, copied))).toHaveLength(1);
  await db.$executeRaw`UPDATE realm_move SET records_changes = true WHERE realm_id = ${at.id}`;
  const compared = await send(member, url);
  await service.previewing.run();
  await service.previewing.idle();
  const where = { organizationId: at.id };
  const { lastId } = await db.eventCounter.findUniqueOrThrow({ where });
  expect((await db.linkPreviewProgress.findUniqueOrThrow({ where })).throughId).toBeLessThan(lastId);
  expect(embedsIn(await contentOf(member, compared))).toEqual([]);
  await db.$executeRaw`DELETE FROM realm_move WHERE realm_id = ${at.id}`;
  await settle(at);
  expect(embedsIn(await contentOf(member, compared))).toHaveLength(1);
});

test('jobs that are given up are logged with their number and organization', async () => {
  const { organization: at } = await organization();
  const { db } = service.app;
  // Due in an hour, so that the worker of the service does not delete them.
  const data = [1, 2, 3].map((messageId) => ({
    ...{ organizationId: at.id, messageId, attempts: messageId === 3 ? 4 : 5 },
    nextAttemptAt: new Date(Date.now() + 3_600_000),
  }));
  await db.linkPreviewJob.createMany({ data });
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  await giveUpJobs({ db, log, now: () => new Date(Date.now() + 7_200_000) });
  const logged = lines.map((line) => JSON.parse(line)).filter(({ organization }) => organization === at.id);
  expect(logged).toEqual([expect.objectContaining({ level: 40, count: 2, organization: at.id })]);
  expect(await db.linkPreviewJob.findMany({ where: { organizationId: at.id }, select: { attempts: true } })).toEqual([
    { attempts: 4 },
  ]);
  await db.linkPreviewJob.deleteMany({ where: { organizationId: at.id } });
});

describe('places of previews', () => {
  const link = (url: string) => `<a href="${url}">${url}</a>`;

  test('links in quotes and code, to images that are shown, and repeated links have none', () => {
    const [a, b, c] = ['https://u.org/a', 'https://u.org/b', 'https://u.org/c.png'];
    const image = `<div class="message_inline_image"><a href="${c}"><img src="/external_content/x/00"></a></div>`;
    const video =
      '<div class="message_inline_image message_inline_video"><a href="https://u.org/v"><video preload="metadata" src="/v">' +
      '</video></a></div>';
    const html =
      `<blockquote>\n<p>${link(a)}</p>\n</blockquote>\n<p>${link(b)} ${link(c)}</p>\n${image}\n${video}\n<p>${link(b)}</p>\n` +
      `<p><code>https://u.org/d</code></p>\n<p><a href="/#narrow">x</a> <a href="mailto:a@u.org">y</a></p>`;
    expect(embedPlaces(html)).toEqual([{ url: b, at: html.indexOf(`\n${image}`) }]);
  });

  test('previews follow the block with the link, within spoilers and lists, and are removed without a trace', () => {
    const [a, b] = ['https://u.org/a?x=1&y="', 'https://u.org/b'];
    const html =
      '<div class="spoiler-block"><div class="spoiler-header">\n</div><div class="spoiler-content" aria-hidden="true">\n' +
      `<p><a href="https://u.org/a?x=1&amp;y=&quot;">a</a></p>\n</div></div>\n<ul>\n<li>${link(b)}</li>\n</ul>\n<p>end</p>`;
    const embeds = [a, b].map((url) => ({ url, title: `"<${url}>"`, description: '', image: null }));
    const shown = withEmbeds(html, embedPlaces(html), new Map(embeds.map((embed) => [embed.url, embed])));
    expect(embedsIn(shown)).toEqual(embeds);
    expect(shown).toMatch(/<\/p>\n<div class="message_embed">.*<\/div>\n<\/div><\/div>\n<ul>/);
    expect(withoutEmbeds(shown)).toBe(html);
  });

  test('at most 24 pages: with more, none', () => {
    const of = (count: number) =>
      embedPlaces(Array.from({ length: count }, (_, i) => `<p>${link(`https://u.org/${i}`)}</p>`).join(''));
    expect([of(24).length, of(25).length]).toEqual([24, 0]);
  });
});

describe('data of a page', () => {
  const read = (body: string | Buffer, contentType = 'text/html') =>
    readPage({ url: 'https://u.org/dir/page', contentType, body: Buffer.from(body as string) });

  test('Open Graph comes before cards, and these before HTML', () => {
    const named = (name: string, content: string) => `<meta name="${name}" content="${content}">`;
    const og = '<meta property="og:title" content="O">';
    expect(read(page('H', og + named('twitter:title', 'T'))).title).toBe('O');
    expect(read(page('H', named('twitter:title', 'T'))).title).toBe('T');
    expect(read(page(' H \n h ', named('description', 'D')))).toEqual({
      title: 'H h',
      description: 'D',
      imageUrl: null,
    });
    expect(read(`<svg><title>icon</title></svg>${page('H')}`).title).toBe('H');
  });

  test('images are absolute and of the web', () => {
    const image = (url: string, more = '') => read(`${more}<meta property="og:image" content="${url}">`).imageUrl;
    expect(image('a.png')).toBe('https://u.org/dir/a.png');
    expect(image('a.png', '<base href="/other/">')).toBe('https://u.org/other/a.png');
    for (const url of ['javascript:alert(1)', 'data:image/png;base64,AA', 'file:///a', 'http://'])
      expect(image(url)).toBeNull();
  });

  test('encodings are those of the content type, of the page, or of its first bytes', () => {
    const latin = Buffer.from(page('Größe'), 'latin1');
    expect(read(latin, 'text/html; charset=ISO-8859-1').title).toBe('Größe');
    expect(read(Buffer.from(`<meta charset="windows-1252">${page('Größe')}`, 'latin1')).title).toBe('Größe');
    expect(read(Buffer.from(`\ufeff${page('日本')}`, 'utf16le'), 'text/html').title).toBe('日本');
    expect(read(page('Größe'), 'text/html; charset=unknown-1').title).toBe('Größe');
  });

  test('texts are short, on one line, and hide nothing', () => {
    expect(read(page('x'.repeat(300))).title).toBe(`${'x'.repeat(199)}…`);
    expect(read(page('a\u202eb\u0000c\u200f')).title).toBe('abc');
  });

  test('entities, closed images and the first of several elements are read as browsers do', () => {
    expect(read('<TITLE>a &amp; b &#x1F600; &nope;</TITLE><title>second</title>').title).toBe('a & b 😀 &nope;');
    expect(read('<title></title><title>first with a text</title>').title).toBe('first with a text');
    expect(read('<svg/><title>after an image</title>').title).toBe('after an image');
    expect(read('</svg></title><title>after closing tags</title>').title).toBe('after closing tags');
    expect(read("<meta name=description content='a &quot;b&quot;' content=c>").description).toBe('a "b"');
    expect(read('<script>"<title>no</title>"</script><!-- <title>no</title> --><title>yes').title).toBe('yes');
    expect(read('<base href="/1/"><base href="/2/"><meta property=og:image content=a.png>').imageUrl).toBe(
      'https://u.org/1/a.png',
    );
  });

  const LENGTH = 512 * 1024;
  const filled = (part: string) => part.repeat(Math.floor(LENGTH / part.length));
  /** Limit on the time for one page, in milliseconds of the processor. About 50 on a slow machine; seconds in quadratic time. */
  const MAX_MS = 500;
  /** Reads a page. @returns Its title, and the time of the processor in milliseconds, without the time of other processes. */
  const readTimed = (body: string, contentType?: string) => {
    const start = process.threadCpuUsage();
    const { title } = read(body, contentType);
    const { user, system } = process.threadCpuUsage(start);
    return { title, ms: (user + system) / 1000 };
  };
  test.each([
    ...['<a>', '<p>', '</x>', '</p>', '<svg>', '<b><i>', '<form>', '<svg><title>', '<title>', '<li><p>', '<', '</'],
    ...['<a ', '<!--', '<!', '<?', '<![CDATA[', '&', '&amp', '&#', '<base href=a>', '<svg><desc>', '</br>', '<math>'],
    ...['<script>', '<title></title>', '<meta name=a content=b>', '<meta charset', '<a b="', '<textarea></textarea'],
  ])('half a megabyte of %s, after the title or before it, is read in linear time', (part) => {
    const before = '<title>first</title>';
    const pages = [
      `${before}${filled(part)}`,
      `${filled(part)}${before}`,
      `<head>${before}<body>${filled(part)}</body>`,
    ];
    pages.push(`${before}${filled(part)}${filled('</a>')}`);
    const taken = pages.map((body) => readTimed(body));
    expect([taken[0]?.title, taken[2]?.title]).toEqual(['first', 'first']);
    for (const { ms } of taken) expect(ms).toBeLessThan(MAX_MS);
  });

  test.each([
    ['an attribute', `<meta name="description" content="${filled('x')}">`],
    ['an attribute with entities', `<meta name="description" content="${filled('&amp;')}">`],
    ['an attribute without an end', `<meta name="description" content="${filled('x')}`],
    ['attributes', `<meta ${filled('a=b ')}>`],
    ['different attributes', `<meta ${Array.from({ length: 60_000 }, (_, i) => `a${i}`).join(' ')}>`],
    ['a name', `<${filled('x')}>`],
    ['a title', `<title>${filled('x')}</title>`],
    ['a title with entities', `<title>${filled('&lt;')}</title>`],
    ['a base', `<base href="${filled('x/')}"><meta property="og:image" content="a">`],
    ['an image', `<meta property="og:image" content="${filled('x/../')}">`],
    ['spaces', `<title>${filled(' ')}</title><meta name="description" content="${filled(' ')}">`],
  ])('%s of half a megabyte is read in linear time', (_, body) => {
    expect(readTimed(body).ms).toBeLessThan(MAX_MS);
  });

  test('of a long content type, the beginning is read', () => {
    const spaces = ' '.repeat(100_000);
    const types = [`charset${spaces}`, 'charset '.repeat(20_000), `charset=${spaces}"${spaces}`, `charset=${spaces}`];
    for (const type of types) {
      const { title, ms } = readTimed(page('é'), `text/html; ${type}`);
      expect(title).toBe('é');
      expect(ms).toBeLessThan(MAX_MS);
    }
    expect(read(Buffer.from(page('é'), 'latin1'), `text/html; charset=iso-8859-1;${spaces}`).title).toBe('é');
  });
});
