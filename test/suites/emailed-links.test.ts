import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Person, Visitor } from '../helpers/person.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

// Attacks on all links that the service sends by email: other hosts in them, and other uses than their own. The tests of each
// feature cover the reuse, expiry and revocation of its links.

const HOUR = 3_600_000;
const PASSWORD = 'correct horse battery';
// Not before the clock of the database, which queues emails by its own time.
let clock = Date.now() + 60_000;
/** A service whose emails stay queued, so that tests can read them. */
let service: InProcess;

beforeAll(async () => {
  const env = { INVITATIONS_PER_DAY: '1000', ORGANIZATION_CREATION: 'on' };
  service = await startOnDatabaseOfRun({ env, now: () => new Date(clock) });
});
afterAll(() => service[Symbol.asyncDispose]());

/** Creates an organization that people can join without an invitation, with an invitation link. */
async function openPlace() {
  const place = await createOrganization({}, { on: service, password: OWNER_PASSWORD });
  await place.owner.ok('PATCH', '/realm', { invite_required: false });
  const { invite_link } = await place.owner.ok('POST', '/invites/multiuse');
  return { ...place, path: new URL(invite_link).pathname, link: invite_link.split('/').at(-1) as string };
}
type Place = Awaited<ReturnType<typeof openPlace>>;

let made = 0;
const newAddress = () => `person${++made}@new.example`;

const FORM = 'application/x-www-form-urlencoded';
const form = (fields: Readonly<Record<string, string>>) => ({
  type: FORM,
  body: new URLSearchParams(fields).toString(),
});
const graphql = (field: string, input: object) => ({
  type: 'application/json',
  body: JSON.stringify({
    query: `mutation ($input: ${field[0]?.toUpperCase()}${field.slice(1)}Input!) { ${field}(input: $input) { __typename
      ... on ServiceError { message } } }`,
    variables: { input },
  }),
});

interface Asking {
  readonly method?: string;
  readonly path: string;
  readonly type: string;
  readonly body: string;
  readonly by?: Person;
}

/** An email with a link: the request that causes it, its recipient, and the pattern of its link. */
interface Kind {
  readonly ask: (place: Place, address: string) => Asking;
  /** The recipient of the email. Default: the address. */
  readonly to?: (place: Place) => string;
  readonly link: RegExp;
  /** Mutation that uses the link. */
  readonly use: string;
}

const JOIN = /^(\S+)\/join\/([\w-]{43})$/m;
const RESET = /^(\S+)\/reset-password\?token=([\w-]{43})$/m;
const KINDS: Readonly<Record<string, Kind>> = {
  'a new password': {
    ask: ({ owner }) => ({ path: '/graphql', ...graphql('requestPasswordReset', { email: owner.email }) }),
    to: ({ owner }) => owner.email,
    link: RESET,
    use: 'resetPassword',
  },
  'a new password, by an administrator': {
    ask: ({ owner, member }) => ({
      path: '/graphql',
      by: owner,
      ...graphql('sendPasswordReset', { userId: idOf(member) }),
    }),
    to: ({ member }) => member.email,
    link: RESET,
    use: 'resetPassword',
  },
  'a sign-up': {
    ask: (_, email) => ({ path: '/sign-up', ...form({ email }) }),
    link: /^(\S+)\/sign-up\/([\w-]{43})$/m,
    use: 'completeSignUp',
  },
  'an invitation': {
    ask: ({ owner }, email) => ({
      path: '/api/v1/invites',
      by: owner,
      ...form({ invitee_emails: email, stream_ids: '[]' }),
    }),
    link: JOIN,
    use: 'acceptInvitation',
  },
  'an invitation that a visitor requests by a link': {
    ask: ({ path }, email) => ({ path, ...form({ email }) }),
    link: JOIN,
    use: 'acceptInvitation',
  },
  'a new address': {
    ask: ({ guest }, email) => ({ method: 'PATCH', path: '/api/v1/settings', by: guest, ...form({ email }) }),
    link: /^(\S+)\/confirm-email\?token=([\w-]{43})$/m,
    use: 'confirmEmailChange',
  },
};

/** Returns the hosts of the URLs in a text, without the dot that ends a sentence. */
const hostsIn = (text: string) => [...text.matchAll(/\w+:\/\/([^/\s]+?)\.?(?=[/\s]|$)/gm)].map(([, host]) => host);

const idOf = ({ id }: Person) => Buffer.from(`User:${id}`).toString('base64');

const mailsTo = (recipient: string) =>
  service.app.db.outgoingMail.findMany({ where: { recipient }, orderBy: { id: 'desc' } });

/** Sends a request as it is: any target and any headers. @returns The status and the head of the response. */
async function sendRaw(method: string, target: string, headers: readonly (readonly [string, string])[], body = '') {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  const head = [...headers, ['Content-Length', String(Buffer.byteLength(body))], ['Connection', 'close']];
  socket.write(`${method} ${target} HTTP/1.1\r\n${head.map((pair) => pair.join(': ')).join('\r\n')}\r\n\r\n${body}`);
  const reply = await textOf(socket);
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(reply)?.[1]), head: reply.split('\r\n\r\n')[0] ?? '' };
}

type Headers = readonly (readonly [string, string])[];
/** Requests with which a client names another host, by the target and the headers that they have. */
const HOSTS: Readonly<Record<string, (host: string, path: string) => readonly [string, Headers]>> = {
  ...Object.fromEntries(
    [
      ...(['X-Forwarded-Host', 'X-Host', 'X-Forwarded-Server', 'X-Original-Host', 'X-HTTP-Host-Override'] as const),
      ...(['X-Real-Host', 'X-Backend-Host', 'X-Forwarded-Prefix', 'X-Forwarded-Proto', 'X-Forwarded-Port'] as const),
    ].map((name) => [
      name,
      (host: string, path: string) =>
        [
          path,
          [
            ['Host', host],
            [name, 'evil.example'],
          ],
        ] as const,
    ]),
  ),
  Forwarded: (host, path) => [path, [...at(host), ['Forwarded', 'for=1.2.3.4;host=evil.example;proto=https']]],
  'X-Original-URL': (host, path) => [
    path,
    [...at(host), ['X-Original-URL', `http://evil.example${path}`], ['X-Rewrite-URL', `http://evil.example${path}`]],
  ],
  'a target with another host': (host, path) => [`http://evil.example${path}`, at(host)],
  'a target with a user name': (host, path) => [`http://${host}@evil.example${path}`, at(host)],
  'a target that begins with two slashes': (host, path) => [`//evil.example/..${path}`, at(host)],
  'another port': (host, path) => [path, at(host.replace(/:\d+$/, ':6666'))],
  'no port': (host, path) => [path, at(host.replace(/:\d+$/, ''))],
  'upper case and a final dot': (host, path) => [path, at(host.toUpperCase().replace(/(:\d+)$/, '.$1'))],
  'two Host headers': (host, path) => [path, [...at(host), ...at('evil.example')]],
  'two hosts in one header': (host, path) => [path, at(`${host}, evil.example`)],
  'another host': (_, path) => [path, at('evil.example')],
  'a host that ends like another one': (host, path) => [path, at(`${host.replace(/:\d+$/, '')}.evil.example`)],
  'a host after a user name': (host, path) => [path, at(`${host}@evil.example`)],
  'a host before a user name': (host, path) => [path, at(`evil.example@${host}`)],
  'a host with a path': (host, path) => [path, at(`${host}/evil.example`)],
  'a host with a fragment': (host, path) => [path, at(`evil.example#.${host}`)],
  'a port with a host': (host, path) => [path, at(`${host.replace(/:\d+$/, '')}:80@evil.example`)],
  'a host with a tab': (host, path) => [path, at(`evil.example\t.${host}`)],
};
const at = (host: string): Headers => [['Host', host]];

describe('a link in an email', () => {
  test.for(Object.keys(HOSTS))('has the host of the organization, whatever the request names: %s', async (name) => {
    clock += 2 * HOUR;
    const place = await openPlace();
    const { host } = place.owner;
    for (const [kind, { ask, to, link }] of Object.entries(KINDS)) {
      const address = newAddress();
      const recipient = to?.(place) ?? address;
      const { method = 'POST', path, type, body, by } = ask(place, address);
      const [target, headers] = HOSTS[name]?.(host, path) ?? [path, at(host)];
      const { status, head } = await sendRaw(
        method,
        target,
        [
          ...headers,
          ['Content-Type', type],
          ...(by === undefined ? [] : ([['Authorization', by.authorization ?? '']] as const)),
        ],
        body,
      );
      expect([kind, head.includes('evil.example')]).toEqual([kind, false]);
      // Only invalid hosts are refused. /graphql has no second path, so a target with a host is unknown there.
      if (!name.startsWith('a target'))
        expect([kind, status < 400]).toEqual([kind, !/^(two|another host|a )/.test(name)]);
      if (status >= 400) {
        // No request was accepted in part.
        expect([kind, (await mailsTo(recipient)).filter((mail) => link.test(mail.body))]).toEqual([kind, []]);
        continue;
      }
      // The email about a new password is queued after the response.
      await expect.poll(async () => (await mailsTo(recipient)).some((mail) => link.test(mail.body))).toBe(true);
      const mails = (await mailsTo(recipient)).map((mail) => `${mail.subject}\n${mail.body}`).join('\n');
      const hosts = hostsIn(mails);
      expect([kind, new Set(hosts)]).toEqual([kind, new Set([host])]);
      expect([kind, /evil|6666/.test(mails)]).toEqual([kind, false]);
    }
  });

  test('to a new organization has the host of that organization', async () => {
    const own = new URL(service.url).host;
    for (const [name, make] of Object.entries(HOSTS)) {
      clock += 2 * HOUR;
      const [subdomain, email] = [`links-${++made}-${process.pid}`, newAddress()];
      const { type, body } = form({ name: 'Acme', subdomain, email });
      const [target, headers] = make(own, '/new-organization');
      const { status } = await sendRaw('POST', target, [...headers, ['Content-Type', type]], body);
      const mails = (await mailsTo(email)).map((mail) => mail.body).join('\n');
      const hosts = hostsIn(mails);
      const expected = status >= 400 ? [] : [`${subdomain}.localhost:${new URL(service.url).port}`];
      expect([name, new Set(hosts)]).toEqual([name, new Set(expected)]);
    }
  });

  /** Asks for each kind of email. @returns The token in each one. */
  async function tokensOf(place: Place): Promise<Readonly<Record<string, string>>> {
    const tokens: Record<string, string> = {};
    for (const [kind, { ask, to, link }] of Object.entries(KINDS)) {
      const address = newAddress();
      const { method = 'POST', path, type, body, by } = ask(place, address);
      const authorization = by === undefined ? [] : ([['Authorization', by.authorization ?? '']] as const);
      const headers: Headers = [...at(place.owner.host), ['Content-Type', type], ...authorization];
      expect([kind, (await sendRaw(method, path, headers, body)).status]).toEqual([kind, 200]);
      const token = async () => {
        const mails = await mailsTo(to?.(place) ?? address);
        return mails.map((mail) => link.exec(mail.body)?.[2]).find((found) => found !== undefined);
      };
      await expect.poll(token).toBeDefined();
      tokens[kind] = (await token()) ?? '';
    }
    return tokens;
  }

  const INPUTS: Readonly<Record<string, object>> = {
    resetPassword: { newPassword: PASSWORD },
    completeSignUp: { fullName: 'Zoe Zane', password: PASSWORD },
    acceptInvitation: { fullName: 'Zoe Zane', password: PASSWORD },
    requestInvitation: { email: 'zoe@new.example' },
    confirmEmailChange: {},
  };
  async function use(visitor: Visitor, mutation: string, token: string): Promise<Json> {
    const { body } = graphql(mutation, { ...INPUTS[mutation], token });
    const { query, variables } = JSON.parse(body);
    const { data, errors } = await visitor.graphql(query, variables);
    return data?.[mutation] ?? errors?.[0];
  }

  test('works for its own purpose and organization only, and no other spelling of its token works', async () => {
    clock += 2 * HOUR;
    const [place, other] = [await openPlace(), await openPlace()];
    const tokens = await tokensOf(place);
    const all = { ...tokens, 'an invitation link': place.link };
    for (const [kind, token] of Object.entries(all)) {
      const own = KINDS[kind]?.use ?? 'requestInvitation';
      for (const mutation of Object.keys(INPUTS)) {
        if (mutation === own) continue;
        // A personal invitation and a link are both invitations; each says what it needs instead.
        const { __typename } = await use(place.anonymous, mutation, token);
        expect([kind, mutation, __typename]).toEqual([
          kind,
          mutation,
          expect.stringMatching(/^(NotFound|Conflict)Error$/),
        ]);
      }
      expect([kind, (await use(other.anonymous, own, token)).__typename]).toEqual([kind, 'NotFoundError']);
      const swapped = token.replace(/[a-z]/, (letter) => letter.toUpperCase());
      const last = token.at(-1) === 'A' ? 'B' : 'A';
      for (const wrong of [
        ...['', token.slice(0, -1), token.slice(1), `${token}A`, `${token}=`, ` ${token}`, `${token}\n`, `${token}\0`],
        ...[
          swapped,
          token.slice(0, -1) + last,
          token.split('').reverse().join(''),
          `%00${token}`,
          `${token}%`,
          '%',
          '_',
        ],
        ...[Buffer.from(token, 'base64url').toString('base64').replace(/=$/, '!'), "' OR '1'='1", token.repeat(100)],
      ]) {
        const { __typename } = await use(place.anonymous, own, wrong);
        expect([kind, wrong, __typename]).toEqual([kind, wrong, expect.stringMatching(/^(NotFound|Validation)Error$/)]);
      }
    }
    // All of them still work once.
    for (const [kind, { use: own }] of Object.entries(KINDS)) {
      const { __typename } = await use(place.anonymous, own, tokens[kind] ?? '');
      expect([kind, __typename]).toEqual([kind, `${own[0]?.toUpperCase()}${own.slice(1)}Payload`]);
      expect([kind, (await use(place.anonymous, own, tokens[kind] ?? '')).__typename]).toEqual([
        kind,
        expect.stringMatching(/^(NotFound|Conflict)Error$/),
      ]);
    }
  });

  test('has a token of 256 random bits, of which the database stores no text', async () => {
    clock += 2 * HOUR;
    const place = await openPlace();
    const tokens = Object.values({ ...(await tokensOf(place)), link: place.link });
    expect(new Set(tokens.map((token) => token.slice(0, 6))).size).toBe(tokens.length);
    for (const token of tokens) expect(Buffer.from(token, 'base64url')).toHaveLength(32);
    const { db } = service.app;
    const tables = await db.$queryRaw<{ table_name: string }[]>`
      SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`;
    for (const { table_name: table } of tables) {
      // Emails that were not sent yet contain their links.
      if (table === 'outgoing_mail') continue;
      for (const token of tokens) {
        const [row] = await db.$queryRawUnsafe<{ count: bigint }[]>(
          `SELECT count(*) FROM "${table}" t WHERE strpos(t::text, $1) > 0`,
          token,
        );
        expect([table, Number(row?.count)]).toEqual([table, 0]);
      }
    }
  });
});

/** Paths of pages that redirect, or that could. */
const PATHS = [
  ...['/', '/sign-in/app', '/sign-up', '/sign-up/x', '/join/x', '/reset-password', '/confirm-email', '/unsubscribe'],
  ...['/new-organization', '/accounts/login/openid/x', '/accounts/login/subdomain/x', '/accounts/logout/openid/x'],
  ...['/api/v1/calls/videoprovider/register', '/avatar/1', '/user_uploads/1/x', '/developers', '/docs', '/graphql'],
];
const ELSEWHERE = [
  ...['https://evil.example', '//evil.example', '/\\evil.example', '/%2f%2fevil.example', '/%5cevil.example'],
  ...['javascript:alert(1)', '/\t/evil.example', '///evil.example', 'https:evil.example', '/..//evil.example'],
];
const PARAMETERS = [
  'next',
  'redirect',
  'redirect_to',
  'redirect_uri',
  'return_to',
  'continue',
  'url',
  'post_logout_redirect_uri',
];

test('no page redirects to another host, whatever its path and its parameters name', async () => {
  const { owner } = await openPlace();
  const { host } = owner;
  const leads = async (target: string) => {
    const { status, head } = await sendRaw('GET', target, at(host));
    const location = /^location: (.*)$/im.exec(head)?.[1];
    if (location === undefined) return;
    const { origin } = new URL(location, `http://${host}`);
    expect([target, status, location, origin]).toEqual([target, status, location, `http://${host}`]);
  };
  for (const path of PATHS) {
    await leads(path);
    await leads(`${path}/`);
    for (const elsewhere of ELSEWHERE) {
      const query = new URLSearchParams(PARAMETERS.map((name) => [name, elsewhere]));
      await leads(`${path}?${query}`);
    }
    for (const prefix of [
      '//evil.example',
      '///evil.example',
      '/\\evil.example',
      '/%5cevil.example',
      '/%2fevil.example',
    ]) {
      for (const suffix of ['', '/', '/..', '/%2e%2e', '/..;']) await leads(`${prefix}${suffix}${path}`);
    }
    await leads(`http://evil.example${path}`);
    await leads(`${path}//evil.example/%2f..`);
  }
});
