import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { bloatedPng, manyFrames } from '../fuzz/pictures.ts';
import { HOSTILE_JSON } from '../fuzz/texts.ts';
import type { Person } from '../helpers/person.ts';
import { black } from '../helpers/pictures.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

/** A TCP connection that sends arbitrary bytes and stores what it receives. */
class Bare {
  text = '';
  readonly closed: Promise<void>;
  readonly socket: Socket;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    this.socket.on('error', () => {});
    this.socket.on('data', (chunk) => {
      this.text += chunk.toString('latin1');
    });
    // When the server ends its side of the connection, this side closes it, too.
    this.socket.once('end', () => this.socket.end());
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
  }

  write(text: string): this {
    this.socket.write(Buffer.from(text, 'latin1'));
    return this;
  }

  /** Status codes of the responses received so far, in order. */
  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
  }
}

const head = ({ host, authorization }: Person, line: string, ...more: string[]): string =>
  [line, `Host: ${host}`, `Authorization: ${authorization}`, ...more, '', ''].join('\r\n');

/** Sends text over a new connection and waits until the connection is closed. */
async function exchange(person: Person, text: string): Promise<Bare> {
  const bare = new Bare(person.url).write(text);
  bare.socket.end();
  await bare.closed;
  return bare;
}

describe('on a bare connection', () => {
  test.concurrent('a client that does not finish a request head is disconnected', async () => {
    const { member } = await createOrganization();
    const silent = Array.from({ length: 20 }, () => new Bare(member.url));
    const slow = Array.from({ length: 20 }, () => new Bare(member.url).write('GET /healthz HTTP/1.1\r\nHost: '));
    const dripping = setInterval(() => {
      for (const bare of slow) bare.write('x');
    }, 500);
    await Promise.all([...silent, ...slow].map(({ closed }) => closed));
    clearInterval(dripping);
    expect(new Set(slow.flatMap(({ statuses }) => statuses))).toEqual(new Set([408]));
  });

  test.concurrent('a truncated body is not executed as a request', async () => {
    const { member } = await createOrganization();
    const form = 'Content-Type: application/x-www-form-urlencoded';
    const before = (await member.ok('GET', '/drafts')).count;
    const line = 'POST /api/v1/drafts HTTP/1.1';
    for (const framing of ['Content-Length: 900', 'Transfer-Encoding: chunked']) {
      const drafts =
        'drafts=%5B%7B%22type%22%3A%22%22%2C%22to%22%3A%5B%5D%2C%22topic%22%3A%22%22%2C%22content%22%3A%22x%22%7D%5D';
      const { statuses } = await exchange(
        member,
        `${head(member, line, form, framing)}${framing[0] === 'T' ? `${drafts.length.toString(16)}\r\n${drafts}\r\n` : drafts}`,
      );
      expect(statuses.filter((status) => status !== 400)).toEqual([]);
    }
    expect((await member.ok('GET', '/drafts')).count).toBe(before);
  });

  test.concurrent.for([
    [
      'a query string of 100 kB',
      (person: Person) => head(person, `GET /api/v1/users/me?x=${'x'.repeat(100_000)} HTTP/1.1`),
    ],
    [
      'a header of 100 kB',
      (person: Person) => head(person, 'GET /api/v1/users/me HTTP/1.1', `X-Long: ${'x'.repeat(100_000)}`),
    ],
    [
      'ten thousand headers',
      (person: Person) =>
        head(person, 'GET /api/v1/users/me HTTP/1.1', ...Array.from({ length: 10_000 }, (_, i) => `X-${i}: x`)),
    ],
  ] as const)('%s is refused before it is read', async ([, request]) => {
    const { member } = await createOrganization();
    const { statuses, text } = await exchange(member, request(member));
    expect(statuses).toEqual([431]);
    expect(text).toContain('The request head is too large');
  });

  test.concurrent('a client that also offers HTTP/2, as some do with every request, gets an HTTP/1.1 reply', async () => {
    const { member } = await createOrganization();
    const offer = [
      'Connection: Upgrade, HTTP2-Settings, close',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA',
    ];
    const form = ['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 14'];
    const requests = [
      head(member, 'GET /api/v1/users/me HTTP/1.1', ...offer),
      `${head(member, 'POST /api/v1/users/me/status HTTP/1.1', ...offer, ...form)}status_text=hi`,
    ];
    for (const request of requests) {
      const bare = new Bare(member.url).write(request);
      await bare.closed;
      expect([bare.statuses, bare.text]).toEqual([[200], expect.stringContaining('"success"')]);
    }
  });

  test.concurrent('a hundred pipelined requests are each answered, in order', async () => {
    const { member } = await createOrganization();
    const one = (i: number) =>
      head(member, `GET /api/v1/users/me?turn=${i} HTTP/1.1`, ...(i === 99 ? ['Connection: close'] : []));
    const bare = new Bare(member.url).write(Array.from({ length: 100 }, (_, i) => one(i)).join(''));
    await bare.closed;
    expect(bare.statuses).toEqual(Array.from({ length: 100 }, () => 200));
  });

  test.concurrent.for([
    [
      'with both lengths',
      ['Content-Length: 5', 'Transfer-Encoding: chunked'],
      '0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n',
    ],
    ['with two lengths', ['Content-Length: 5', 'Content-Length: 6'], 'x=yyy'],
    ['with a length that is none', ['Content-Length: +5'], 'x=yyy'],
    ['with a chunk that is none', ['Transfer-Encoding: chunked'], 'zz\r\nx\r\n0\r\n\r\n'],
    ['with a coding nobody knows', ['Transfer-Encoding: chunked, x'], '0\r\n\r\n'],
    ['with a space before a colon', ['Content-Length : 5'], 'x=yyy'],
    ['with a null byte in a header', ['X: a\0b'], ''],
    ['with a bare line feed', ['X: a\nContent-Length: 5'], 'x=yyy'],
    ['with a bare carriage return', ['X: a\rContent-Length: 5'], 'x=yyy'],
  ] as const)('a request %s is never parsed as two', async ([, headers, body]) => {
    const { member } = await createOrganization();
    const line = 'POST /api/v1/messages/render HTTP/1.1';
    const { statuses } = await exchange(
      member,
      head(member, line, 'Content-Type: application/x-www-form-urlencoded', ...headers) + body,
    );
    expect(statuses.length).toBeLessThanOrEqual(1);
    expect(statuses.filter((status) => status < 400 || status >= 500)).toEqual([]);
  });
});

describe('a body', () => {
  const bomb = gzipSync(Buffer.alloc(200_000_000, 'x'));

  test.concurrent.for(['gzip', 'deflate', 'br', 'identity, gzip'])(
    'that claims %s compression is refused without decompression',
    async (encoding) => {
      const { member } = await createOrganization();
      const headers = { 'content-encoding': encoding };
      const form = { type: 'application/x-www-form-urlencoded', content: bomb };
      const rest = await member.rest('POST', '/messages/render', {}, { headers, body: form });
      expect(rest).toMatchObject({ status: 415, body: { code: 'BAD_REQUEST' } });
    },
  );

  test.concurrent.for(HOSTILE_JSON.map((json) => [json.slice(0, 40), json] as const))(
    'with the JSON %s is refused or accepted',
    async ([, json]) => {
      const { member } = await createOrganization();
      const attempts = [
        member.rest('POST', '/drafts', { drafts: json }),
        member.rest('POST', '/register', { narrow: json, client_capabilities: json }),
        member.rest('PATCH', '/settings', { enter_sends: json }),
        member.rest('GET', '/messages', { anchor: 1, narrow: json }),
      ];
      for (const { status } of await Promise.all(attempts)) expect([200, 400, 431]).toContain(status);
    },
  );
});

/** Widths and heights of pictures with one very long side. */
const SIDES = [
  ...[
    [16_777_216, 1],
    [1, 16_777_216],
    [1_000_000, 16],
    [16_384, 1],
    [20, 1_000_000],
    [65_535, 300],
  ],
] as const satisfies (readonly [number, number])[];

describe('a picture', () => {
  test.for(SIDES)(
    'of %d × %d pixels, with and without all of them, is refused without being decoded',
    async ([width, height]) => {
      const { owner } = await createOrganization();
      for (const file of [black(width, height), black(width, height, { isWhole: false })]) {
        for (const path of ['/realm/emoji/long', '/users/me/avatar']) {
          const { status, body } = await owner.rest('POST', path, { file });
          expect([status, body.msg]).toEqual([400, 'The image is wider or higher than 16,383 pixels.']);
        }
      }
    },
  );

  test('of the maximum width is accepted', async () => {
    const { owner } = await createOrganization();
    expect((await owner.rest('POST', '/realm/emoji/wide', { file: black(16_383, 2) })).status).toBe(200);
  });

  test.concurrent.for(['zTXt', 'iTXt', 'iCCP'])('with a gigabyte of %s is decoded without that data', async (kind) => {
    const { owner } = await createOrganization();
    const { status } = await owner.rest('POST', '/realm/emoji/bomb', { file: bloatedPng(kind, 1_000_000_000) });
    expect([200, 400]).toContain(status);
  });

  test.concurrent('with too many frames is refused, and one with false dimensions costs only its actual pixels', async () => {
    const { owner } = await createOrganization();
    const large = manyFrames(200);
    large.writeUInt16LE(65_535, 6);
    large.writeUInt16LE(65_535, 8);
    const many = await owner.rest('POST', '/realm/emoji/many', { file: manyFrames(150_000) });
    expect(many).toMatchObject({ status: 400, body: { msg: 'The image has more than 250 frames.' } });
    // Only the actual pixels count, so this image may be accepted although it declares 65,535 pixels on each side.
    const { status } = await owner.rest('POST', '/realm/emoji/large', { file: large });
    expect([200, 400]).toContain(status);
  });
});

/** Texts by name. If a message of 10,000 characters repeats such a text, its HTML is many times as long. */
const EXPANSIONS: Readonly<Record<string, (createOrganization: Organization) => string>> = {
  mentions: ({ member }) => `@_**|${member.id}** `,
  'mentions of everybody': () => '@**all** ',
  emoji: () => ':8: ',
  'formulas of few characters': () => '$$x^2$$ ',
  'formulas of many cells': () => `$$\\begin{matrix}${'&'.repeat(300)}\\end{matrix}$$ `,
  'lines of a formula': () => '```math\n\\frac{\\sqrt{a}}{\\sum_b^c}\n```\n',
  'links to pictures': () => 'https://a.b/c.png ',
  times: () => '<time:2026-01-01T00:00:00Z> ',
  'tables of empty cells': () => '|||||||||||||||||||||\n|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|\n\n',
};

test.concurrent.for(Object.entries(EXPANSIONS))(
  'ten thousand characters of %s become at most a megabyte of HTML',
  async ([, piece]) => {
    const made = await createOrganization();
    const content = piece(made).repeat(10_000).slice(0, 10_000);
    const { status, body } = await made.member.rest('POST', '/messages/render', { content });
    expect([200, 400]).toContain(status);
    expect((body.rendered ?? '').length).toBeLessThanOrEqual(1_000_000);
  },
);

test.concurrent('two hundred long polls on one queue are all answered, and other requests are answered meanwhile', async () => {
  const { owner, member } = await createOrganization();
  const { queue_id, last_event_id } = await member.register({ fetch_event_types: [] });
  const polls = Array.from({ length: 200 }, () => member.rest('GET', '/events', { queue_id, last_event_id }));
  expect((await owner.rest('GET', '/users/me')).status).toBe(200);
  expect(new Set((await Promise.all(polls)).map(({ status }) => status))).toEqual(new Set([200]));
});
