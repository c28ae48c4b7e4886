import { afterAll, beforeAll, expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Person, Visitor } from '../helpers/person.ts';
import { download, NO_PICTURES, PNG, plain } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';
import { endless, startWebsite, type Website } from '../helpers/website.ts';

let service: InProcess;
let website: Website;

beforeAll(async () => {
  [service, website] = await Promise.all([startInProcess({}), startWebsite()]);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await website[Symbol.asyncDispose]();
});

const organization = () => createOrganization({}, { on: service });
const ADDRESS = /src="(\/external_content\/[\w-]{32}\/[0-9a-f]+)"/;

/** Sends a message with an image of a website. @returns The rendered content of the message. */
async function rendered(by: Person, content: string): Promise<string> {
  const { id } = await by.ok('POST', '/messages', { type: 'direct', to: [by.id], content });
  return (await by.ok('GET', `/messages/${id}`, {})).message.content;
}

/** Returns the address under which the service shows an image of a website. */
async function addressOf(by: Person, url: string): Promise<string> {
  const { rendered: html } = await by.ok('POST', '/messages/render', { content: url });
  return ADDRESS.exec(html)?.[1] ?? '';
}

const anonymous = ({ url, host }: Visitor) => ({ url, host }) as Visitor;
const read = (at: Visitor, path: string, headers: Record<string, string> = {}) =>
  download(anonymous(at), path, headers);

test('an image of another website is loaded from the service, without credentials', async () => {
  const { member } = await organization();
  const url = website.file('/sea.png?a=1&b=2', 'text/plain', PNG);
  const html = await rendered(member, `[the sea](${url})`);
  const [, address = ''] = ADDRESS.exec(html) ?? [];
  const href = url.replace('&', '&amp;');
  expect(html).toBe(
    `<p><a href="${href}">the sea</a></p>\n` +
      `<div class="message_inline_image"><a href="${href}" title="the sea"><img src="${address}"></a></div>`,
  );
  expect(Buffer.from(address.split('/')[3] ?? '', 'hex').toString()).toBe(url);
  const { status, headers, bytes } = await read(member, address);
  expect([status, bytes]).toEqual([200, PNG]);
  expect(headers).toMatchObject({
    'content-type': 'image/png',
    'content-length': String(PNG.length),
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining('sandbox'),
    'cache-control': 'public, max-age=86400',
    etag: expect.any(String),
  });
  expect((await read(member, address, { 'if-none-match': String(headers.etag) })).status).toBe(304);
  // Both requests are answered from one response of the website, which receives nothing of the reader.
  expect(website.count('/sea.png?a=1&b=2')).toBe(1);
  expect(Object.keys(website.requests.at(-1)?.headers ?? {}).toSorted()).toEqual(
    ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'].toSorted(),
  );
});

test('GraphQL returns the address of the image at the service', async () => {
  const { member } = await organization();
  const url = website.file('/graphql.png', 'image/png', PNG);
  const { id } = await member.ok('POST', '/messages', { type: 'direct', to: [member.id], content: url });
  const query = `query ($id: ID!) { message(by: { id: $id }) { images { url proxiedUrl thumbnailUrl } } }`;
  const { message } = await member.query(query, { id: globalId('Message', id) });
  expect(message.images).toEqual([
    { url, proxiedUrl: expect.stringMatching(/^http.*\/external_content\/[\w-]{32}\/[0-9a-f]+$/), thumbnailUrl: null },
  ]);
});

test('concurrent readers of an image cause one request', async () => {
  const { member } = await organization();
  const url = website.file('/many.png', 'image/png', PNG);
  const address = await addressOf(member, url);
  const replies = await Promise.all(Array.from({ length: 20 }, () => read(member, address)));
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  expect(website.count('/many.png')).toBe(1);
});

test('a forged signature and one of another organization are refused', async () => {
  const [{ member }, other] = await Promise.all([organization(), organization()]);
  const address = await addressOf(member, website.file('/signed.png', 'image/png', PNG));
  const [, , signature = '', url = ''] = address.split('/');
  const forged = `${signature.slice(0, -1)}${signature.endsWith('A') ? 'B' : 'A'}`;
  const another = Buffer.from(`${website.url}/other.png`).toString('hex');
  for (const path of [
    ...[`/external_content/${forged}/${url}`, `/external_content/${signature}/${another}`],
    ...[`/external_content/${signature}/${url}00`, `/external_content/${signature}/`, `/external_content/${url}`],
  ]) {
    expect([path, (await read(member, path)).status]).toEqual([path, 404]);
  }
  expect((await read(other.member, address)).status).toBe(404);
  expect(website.count('/signed.png')).toBe(0);
  expect((await read(member, address)).status).toBe(200);
});

test('only images are served, by their content', async () => {
  const { member } = await organization();
  const page = '<!doctype html><script>alert(1)</script>';
  const cases = {
    html: website.file('/html.png', 'image/png', page),
    'html behind a comment': website.file('/comment.gif', 'image/gif', `<!--\x89PNG-->${page}`),
    svg: website.file('/svg.png', 'image/svg+xml', NO_PICTURES['SVG, which can hold a program'] as Buffer),
    pdf: website.file('/pdf.png', 'image/png', '%PDF-1.7'),
    nothing: website.file('/empty.png', 'image/png', ''),
    missing: `${website.url}/missing.png`,
    metadata: website.serve('/moved.png', (_, response) =>
      response.writeHead(302, { Location: 'http://169.254.169.254/a.png' }).end(),
    ),
    huge: website.serve('/huge.png', endless('image/png', PNG)),
  };
  for (const [name, url] of Object.entries(cases)) {
    const { status, headers } = await read(member, await addressOf(member, url));
    expect([name, status, headers['content-type']]).toEqual([name, 404, 'text/plain; charset=utf-8']);
  }
  // A failure is kept for a minute: reloading the page does not repeat the request.
  await read(member, await addressOf(member, cases.html));
  expect(website.count('/html.png')).toBe(1);
  // A page behind the signature of an image is never more than an image to browsers.
  const polyglot = website.file('/polyglot.gif', 'text/html', `GIF89a${page}`);
  const { headers } = await read(member, await addressOf(member, polyglot));
  expect(headers).toMatchObject({ 'content-type': 'image/gif', 'x-content-type-options': 'nosniff' });
});

test('an image with an extreme number of pixels is not decoded', async () => {
  const { member } = await organization();
  const bomb = NO_PICTURES['a bomb: more points than memory'] as Buffer;
  const { status, bytes } = await read(member, await addressOf(member, website.file('/bomb.png', 'image/png', bomb)));
  expect([status, bytes.length]).toEqual([200, bomb.length]);
});

test('slow images of a host do not delay those of other hosts', async () => {
  const { member } = await organization();
  await using other = await startWebsite();
  const started = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const slow = Array.from({ length: 10 }, (_, i) =>
    website.serve(`/slow-${i}.png`, (_request, response) => {
      started.resolve();
      void held.promise.then(() => response.end(PNG));
    }),
  );
  const addresses = await Promise.all(slow.map((url) => addressOf(member, url)));
  const pending = addresses.map((address) => read(member, address));
  const quick = other.file('/quick.webp', 'image/webp', await plain('blue').webp().toBuffer());
  await started.promise;
  expect((await read(member, await addressOf(member, quick))).status).toBe(200);
  expect(website.requests.filter(({ path }) => path.startsWith('/slow-')).length).toBeLessThanOrEqual(4);
  held.resolve();
  expect((await Promise.all(pending)).map(({ status }) => status)).toEqual(Array(10).fill(200));
});

test('no image is shown if the organization disables previews, or if its URL is very long', async () => {
  const { owner } = await organization();
  const url = `${website.url}/${'x'.repeat(2_100)}.png`;
  expect(await rendered(owner, url)).not.toContain('<img');
  await owner.ok('PATCH', '/realm', { inline_image_preview: false });
  expect(await rendered(owner, `${website.url}/a.png`)).not.toContain('<img');
});

test('an image on the host of the organization keeps its URL', async () => {
  const { member } = await organization();
  const { realm_url } = await member.ok('GET', '/server_settings', {});
  expect(await rendered(member, `${realm_url}/static/a.png`)).toContain(`<img src="${realm_url}/static/a.png">`);
});
