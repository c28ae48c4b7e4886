import { createDecipheriv, generateKeyPairSync, randomBytes } from 'node:crypto';
import { decodeJwt, type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { KeyVault, loadSecretKey } from '../../src/platform/key-vault.ts';
import { renewSealed, reseal } from '../../src/server/secret-key.ts';
import { Authenticator } from '../helpers/authenticator.ts';
import { CookieBrowser } from '../helpers/browser.ts';
import { runCommand } from '../helpers/control.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type Json, type Reply, send } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { type OpenIdProvider, startOpenIdProvider } from '../helpers/openid-provider.ts';
import { type Parameters, Person } from '../helpers/person.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

const MINUTE = 60_000;
let clock = Date.now();
let service: InProcess;
let provider: OpenIdProvider;
let other: OpenIdProvider;

beforeAll(async () => {
  provider = await startOpenIdProvider();
  other = await startOpenIdProvider({ claimsInIdToken: true, hasSignOut: false });
  service = await startOnDatabaseOfRun({ now: () => new Date(clock) });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});
beforeEach(() => {
  clock = Date.now();
  provider.instead = undefined;
  provider.idToken = undefined;
});

const place = () => createOrganization({}, { on: service, password: OWNER_PASSWORD });
type Place = Awaited<ReturnType<typeof place>>;

const FIELDS = 'identityProvider { id slug redirectUri hasClientSecret domains createsAccounts groupsClaim isEnabled }';
const pathOf = (slug: string) => `/accounts/login/openid/${slug}`;
const originOf = ({ host }: { readonly host: string }) => `http://${host}`;
const redirectUriOf = (at: { readonly host: string }, slug: string) => `${originOf(at)}${pathOf(slug)}/callback`;

/** Adds a provider to an organization. */
async function connected(
  { owner }: Place,
  { at = provider, slug = 'company', ...options }: { at?: OpenIdProvider; slug?: string } & Parameters = {},
): Promise<Json> {
  const client = await at.register(redirectUriOf(owner, slug));
  const input = { slug, name: `Sign in at ${slug}`, issuer: at.issuer, ...client, ...options };
  return (await owner.mutate('createIdentityProvider', input, FIELDS)).identityProvider;
}

let made = 0;
/** Adds a person to the provider. @returns The identifier. */
function personAt(claims: object = {}, at = provider): string {
  const subject = `subject-${++made}-${randomBytes(4).toString('hex')}`;
  at.people.set(subject, { name: `Person ${made}`, email_verified: true, ...claims });
  return subject;
}

/** A person's browser at an organization. */
class Browser extends CookieBrowser {
  readonly #place: { readonly host: string };

  constructor({ owner }: Pick<Place, 'owner'>, url = owner.url) {
    super(url);
    this.#place = owner;
  }

  /** Begins a sign-in. @returns The URL at the provider. */
  async begin(slug = 'company', query = ''): Promise<string> {
    const reply = await this.open(`${originOf(this.#place)}${pathOf(slug)}${query}`);
    expect([reply.status, reply.text]).toEqual([303, '']);
    return reply.headers.location ?? '';
  }

  /** Signs in with the provider. @returns The last response of the service. */
  async signIn(subject: string, { at = provider, slug = 'company', query = '' } = {}): Promise<Reply> {
    return this.back(await at.signIn(await this.begin(slug, query), subject));
  }

  back(url: string): Promise<Reply> {
    return this.open(url, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' });
  }

  /** Returns the address of the signed-in user. Undefined if there is none. */
  async viewer(): Promise<Json> {
    const query = encodeURIComponent('{ viewer { email role fullName databaseId } }');
    const { text } = await this.open(`${originOf(this.#place)}/graphql?query=${query}`, {
      'graphql-require-preflight': '1',
    });
    return JSON.parse(text).data?.viewer ?? undefined;
  }
}

const messageIn = ({ text }: Reply) =>
  /role="alert">([^<]*)</.exec(text)?.[1]?.replaceAll('&#39;', "'").replaceAll('&quot;', '"');
const outcome = (reply: Reply) => [reply.status, messageIn(reply)];
const EXPIRED = [400, 'This sign-in has expired, or was begun in another browser or tab. Sign in again.'];
const INVALID = [400, 'The response of Sign in at company is not valid. Sign in again.'];

describe('sign-in', () => {
  test('links an account by its verified address, and finds it by the identity from then on', async () => {
    const at = await place();
    const { redirectUri, hasClientSecret } = await connected(at);
    expect([redirectUri, hasClientSecret]).toEqual([redirectUriOf(at.owner, 'company'), true]);
    const subject = personAt({ email: at.member.email.toUpperCase() });
    const browser = new Browser(at);
    const url = new URL(await browser.begin());
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      ...{ response_type: 'code', code_challenge_method: 'S256', redirect_uri: redirectUri },
      ...{ state: expect.any(String), nonce: expect.any(String), scope: 'openid email profile' },
    });
    const done = await browser.back(await provider.signIn(url.href, subject));
    expect([done.status, done.headers.location]).toEqual([303, '/']);
    expect(done.headers['set-cookie']?.find((line) => line.includes('session'))).toMatch(/HttpOnly; SameSite=Lax/);
    expect(await browser.viewer()).toMatchObject({ email: at.member.email });
    provider.people.set(subject, { email: 'else@else.example', email_verified: false });
    const again = new Browser(at);
    expect((await again.signIn(subject)).status).toBe(303);
    expect(await again.viewer()).toMatchObject({ databaseId: at.member.id });
  });

  test('reads claims from the ID token too', async () => {
    const at = await place();
    await connected(at, { at: other });
    const browser = new Browser(at);
    await browser.signIn(personAt({ email: at.member.email }, other), { at: other });
    expect(await browser.viewer()).toMatchObject({ email: at.member.email });
  });

  test('does not trust an address that is not verified', async () => {
    const at = await place();
    await connected(at, { domains: ['new.example'], createsAccounts: true });
    for (const email_verified of [false, undefined, 'true', 'false', 1, null, {}, ['true']] as never[]) {
      for (const email of [at.owner.email, 'stranger@new.example']) {
        const browser = new Browser(at);
        const message = `Sign in at company has not verified your email address ${email}. Verify it there, then sign in again.`;
        expect(outcome(await browser.signIn(personAt({ email, email_verified })))).toEqual([403, message]);
        expect(await browser.viewer()).toBeUndefined();
      }
    }
    expect(outcome(await new Browser(at).signIn(personAt()))).toEqual([
      ...[403, 'Sign in at company did not send your email address.'],
    ]);
  });

  test('does not link an account to a second person of the same provider', async () => {
    const at = await place();
    await connected(at);
    expect((await new Browser(at).signIn(personAt({ email: at.member.email }))).status).toBe(303);
    const [status, message] = outcome(await new Browser(at).signIn(personAt({ email: at.member.email })));
    expect([status, message]).toEqual([403, expect.stringContaining('belongs to another person')]);
  });

  test('creates accounts only for the domains of the provider, and by the rules of the organization', async () => {
    const at = await place();
    await connected(at);
    const email = `ann${made}@new.example`;
    const none = await new Browser(at).signIn(personAt({ email }));
    expect(outcome(none)).toEqual([403, expect.stringContaining(`has the address ${email}`)]);
    await connected(at, { slug: 'creating', domains: ['New.example'], createsAccounts: true });
    await at.owner.ok('PATCH', '/realm', { welcome_message_custom_text: 'Ahoy' });
    const events = await at.owner.receiving({ event_types: ['realm_user'] });
    const browser = new Browser(at);
    await browser.signIn(personAt({ email, name: 'Ann Lee' }), { slug: 'creating' });
    const viewer = await browser.viewer();
    expect(viewer).toMatchObject({ email, fullName: 'Ann Lee', role: 'MEMBER' });
    const { organizationId } = await service.app.db.user.findFirstOrThrow({ where: { email } });
    expect(await service.app.db.message.count({ where: { organizationId, content: 'Ahoy' } })).toBe(1);
    expect(await events()).toMatchObject([{ op: 'add', person: { email, full_name: 'Ann Lee' } }]);
    const elsewhere = await new Browser(at).signIn(personAt({ email: 'x@old.example' }), { slug: 'creating' });
    expect(outcome(elsewhere)).toEqual([403, 'You cannot sign in with an address of old.example.']);
    const org = at.organization.subdomain;
    await runCommand(service.dataDir, 'org limits', { org, maxUsers: 1 });
    const full = await new Browser(at).signIn(personAt({ email: 'full@new.example' }), { slug: 'creating' });
    expect(outcome(full)).toEqual([400, expect.stringContaining('more than 1 active users')]);
    await runCommand(service.dataDir, 'org limits', { org, maxUsers: 'none' });
    await at.owner.ok('POST', '/realm/domains', { domain: 'only.example', allow_subdomains: false });
    await at.owner.mutate('updateOrganization', { emailsRestrictedToDomains: true }, 'organization { id }');
    const restricted = await new Browser(at).signIn(personAt({ email: 'y@new.example' }), { slug: 'creating' });
    expect(outcome(restricted)).toEqual([400, "Email 'y@new.example' not allowed in this organization"]);
  });

  describe('of a person who is invited', () => {
    /** Invites people with the address, or by a reusable link without one. @returns The token of the link. */
    async function invited({ owner }: Place, email?: string, terms: Parameters = {}): Promise<string> {
      if (email === undefined) {
        const { invite_link } = await owner.ok('POST', '/invites/multiuse', terms);
        return new URL(invite_link).pathname.split('/').at(-1) ?? '';
      }
      await owner.ok('POST', '/invites', { invitee_emails: email, stream_ids: [], ...terms });
      const { body } = await service.app.db.outgoingMail.findFirstOrThrow({
        where: { recipient: email },
        orderBy: { id: 'desc' },
      });
      return /\/join\/(\S+)/.exec(body)?.[1] ?? '';
    }

    const openTo = async ({ owner }: Place) => (await owner.ok('GET', '/invites')).invites;

    test('creates the account with role, channels and text of the invitation, and uses it up', async () => {
      const at = await place();
      await connected(at, { groupsClaim: 'groups' });
      const { channel } = await at.owner.mutate('createChannel', { name: 'Pier' }, 'channel { databaseId }');
      const id: number = channel.databaseId;
      const email = `invited${made}@new.example`;
      const terms = { invite_as: 600, stream_ids: [id], welcome_message_custom_text: 'Welcome aboard' };
      const token = await invited(at, email, terms);
      const browser = new Browser(at);
      const page = await browser.open(`${originOf(at.owner)}/join/${token}`);
      expect(page.text).toContain(`href="${pathOf('company')}?invitation=${token}"`);
      await browser.signIn(personAt({ email: email.toUpperCase(), name: 'Ina Lee' }), {
        query: `?invitation=${token}`,
      });
      expect(await browser.viewer()).toMatchObject({ fullName: 'Ina Lee', role: 'GUEST' });
      const user = await service.app.db.user.findFirstOrThrow({
        where: { email: { equals: email, mode: 'insensitive' } },
      });
      const subscribed = await service.app.db.subscription.findMany({
        where: { userId: user.id },
        select: { channelId: true },
      });
      expect(subscribed).toEqual([{ channelId: id }]);
      expect(
        await service.app.db.message.count({
          where: { organizationId: user.organizationId, content: 'Welcome aboard' },
        }),
      ).toBe(1);
      expect(await openTo(at)).toEqual([]);
      const used = await new Browser(at).open(`${originOf(at.owner)}${pathOf('company')}?invitation=${token}`);
      expect(outcome(used)).toEqual([400, expect.stringContaining('already used')]);
    });

    test('needs no link for the invited address, and ignores invitations that cannot be used', async () => {
      const at = await place();
      await connected(at);
      const email = `direct${made}@new.example`;
      const subject = personAt({ email });
      await invited(at, email, { invite_expires_in_minutes: 1 });
      clock += 2 * MINUTE;
      const expired = await new Browser(at).signIn(subject);
      expect(outcome(expired)).toEqual([403, expect.stringContaining('Ask an administrator to invite you')]);
      await invited(at, email, { invite_as: 600 });
      const browser = new Browser(at);
      await browser.signIn(subject);
      expect(await browser.viewer()).toMatchObject({ role: 'GUEST' });
    });

    test('is refused with the invitation of another address, and with an address that is not verified', async () => {
      const at = await place();
      await connected(at);
      const email = `named${made}@new.example`;
      const query = `?invitation=${await invited(at, email)}`;
      const other = await new Browser(at).signIn(personAt({ email: `other${made}@new.example` }), { query });
      expect(outcome(other)).toEqual([400, expect.stringContaining(`This invitation is for ${email}`)]);
      const unverified = await new Browser(at).signIn(personAt({ email, email_verified: false }), { query });
      expect(outcome(unverified)).toEqual([403, expect.stringContaining('has not verified your email address')]);
      expect(await openTo(at)).toHaveLength(1);
    });

    test('works with a reusable link, until it is revoked', async () => {
      const at = await place();
      await connected(at);
      const query = `?invitation=${await invited(at, undefined, { invite_as: 600 })}`;
      const browser = new Browser(at);
      await browser.signIn(personAt({ email: `link${made}@new.example` }), { query });
      expect(await browser.viewer()).toMatchObject({ role: 'GUEST' });
      const late = new Browser(at);
      const url = await provider.signIn(
        await late.begin('company', query),
        personAt({ email: `late${made}@new.example` }),
      );
      const [{ id }] = await openTo(at);
      await at.owner.ok('DELETE', `/invites/multiuse/${id}`);
      expect(outcome(await late.back(url))).toEqual([400, expect.stringContaining('was revoked')]);
      expect(await late.viewer()).toBeUndefined();
    });
  });

  test('gives and takes the roles and groups of the groups claim', async () => {
    const at = await place();
    const { owner } = at;
    const [crew, staff] = await Promise.all(
      ['crew', 'staff'].map(async (name) => {
        const { group_id } = await owner.ok('POST', '/user_groups/create', { name, description: '', members: [] });
        return group_id as number;
      }),
    );
    const groupRules = [
      { value: 'admins', role: 'ADMINISTRATOR', userGroupIds: [globalId('UserGroup', crew ?? 0)] },
      { value: 'staff', userGroupIds: [globalId('UserGroup', staff ?? 0)] },
      { value: 'guests', role: 'GUEST' },
    ];
    const domains = ['new.example', owner.email.split('@')[1] ?? ''];
    const rules = { domains, createsAccounts: true, groupsClaim: 'groups', groupRules };
    await connected(at, rules);
    const email = `ann${made}@new.example`;
    const subject = personAt({ email, groups: ['admins', 'staff', 'unknown'] });
    const membersOf = async (id = 0) => (await owner.ok('GET', `/user_groups/${id}/members`)).members as number[];
    const signIn = async () => {
      const browser = new Browser(at);
      const { status, text } = await browser.signIn(subject);
      expect([status, text]).toEqual([303, '']);
      const viewer = await browser.viewer();
      const held = [
        (await membersOf(crew)).includes(viewer.databaseId),
        (await membersOf(staff)).includes(viewer.databaseId),
      ];
      return [viewer.role, ...held];
    };
    expect(await signIn()).toEqual(['ADMINISTRATOR', true, true]);
    provider.people.set(subject, { groups: ['staff'] });
    expect(await signIn()).toEqual(['MEMBER', false, true]);
    provider.people.set(subject, { groups: ['guests', 'admins'] });
    expect(await signIn()).toEqual(['ADMINISTRATOR', true, false]);
    provider.people.set(subject, {});
    expect(await signIn()).toEqual(['MEMBER', false, false]);
    // A role that no rule names stays, and so does that of the only owner.
    const ofOwner = personAt({ email: owner.email, groups: ['guests'] });
    const browser = new Browser(at);
    await browser.signIn(ofOwner);
    expect(await browser.viewer()).toMatchObject({ role: 'OWNER' });
    const ofGuest = personAt({ email: `gus${made}@new.example`, groups: ['guests'] });
    const guest = new Browser(at);
    await guest.signIn(ofGuest);
    expect(await guest.viewer()).toMatchObject({ role: 'GUEST' });
    provider.people.set(ofGuest, {});
    await guest.signIn(ofGuest);
    expect(await guest.viewer()).toMatchObject({ role: 'GUEST' });
  });

  test('is recorded in the audit log, with the provider, the address and the client', async () => {
    const at = await place();
    const { owner, organization } = at;
    const { group_id: crew } = await owner.ok('POST', '/user_groups/create', {
      ...{ name: 'crew', description: '', members: [] },
    });
    const groupRules = [{ value: 'admins', role: 'ADMINISTRATOR', userGroupIds: [globalId('UserGroup', crew)] }];
    await connected(at, { domains: ['new.example'], createsAccounts: true, groupsClaim: 'groups', groupRules });
    const subject = personAt({ email: `ann${made}@new.example`, groups: ['admins'] });
    const organizationId = organization.id;
    const count = await service.app.db.auditLogEntry.count({ where: { organizationId } });
    const browser = new Browser(at);
    await browser.signIn(subject);
    const { databaseId: id } = await browser.viewer();
    provider.people.set(subject, {});
    await browser.signIn(subject);
    const written = await service.app.db.auditLogEntry.findMany({
      ...{ where: { organizationId }, orderBy: { id: 'asc' }, skip: count },
    });
    const company = { provider: { new: 'company' } };
    const one = { new: 1 };
    const signedIn = [
      ...(['signed_in', 'user', id, id] as const),
      { ...company, credential: { new: 'session' }, method: { new: 'single sign-on' } },
    ];
    expect(
      written.map(({ action, actorKind, actorId, objectId, details }) => [
        ...[action, actorKind, actorId, objectId, details],
      ]),
    ).toEqual([
      ['user_created', 'system', null, id, { ...company, role: { new: 200 } }],
      ['identity_linked', 'user', id, id, { ...company, issuer: { new: provider.issuer } }],
      ['group_members_added', 'system', null, crew, { ...company, members: { new: [id] }, count: one }],
      signedIn,
      ['user_role_changed', 'system', null, id, { ...company, role: { old: 200, new: 400 } }],
      ['group_members_removed', 'system', null, crew, { ...company, members: { old: [id] }, count: one }],
      signedIn,
      // The second sign-in ends the session of the first.
      ['sessions_ended', 'visitor', null, id, expect.anything()],
    ]);
    for (const { address, clientName } of written) {
      expect([address, clientName]).toEqual([expect.stringMatching(/^(127\.|::)/), expect.any(String)]);
    }
  });

  test('is refused to deactivated users and in deactivated organizations', async () => {
    const at = await place();
    await connected(at);
    const subject = personAt({ email: at.member.email });
    expect((await new Browser(at).signIn(subject)).status).toBe(303);
    const begun = new Browser(at);
    const url = await provider.signIn(await begun.begin(), subject);
    await at.owner.ok('DELETE', `/users/${at.member.id}`);
    expect(outcome(await begun.back(url))).toEqual([401, 'Account is deactivated']);
    expect(await begun.viewer()).toBeUndefined();
    const { guest } = at;
    await at.owner.ok('DELETE', `/users/${guest.id}`);
    expect(outcome(await new Browser(at).signIn(personAt({ email: guest.email })))[0]).toBe(401);
    const { app } = service;
    const where = { id: at.organization.id };
    await app.db.organization.update({ where, data: { deactivatedAt: new Date() } });
    const gone = await new Browser(at).open(`${originOf(at.owner)}${pathOf('company')}`);
    expect(outcome(gone)).toEqual([401, 'This organization has been deactivated']);
  });
});

describe('a linked identity', () => {
  const LIST = 'query ($userId: ID) { linkedIdentities(userId: $userId) { issuer providerName } }';
  const listed = async (by: Person, of?: Pick<Person, 'id'>) =>
    (await by.query(LIST, of && { userId: globalId('User', of.id) })).linkedIdentities;
  const unlink = (by: Person, parameters: Parameters = {}) =>
    by.tryMutation('unlinkIdentity', { issuer: provider.issuer, ...parameters });

  test('is listed to its user and to administrators, and unlinked by its user', async () => {
    const [at, foreign] = [await place(), await place()];
    await connected(at);
    const which = { org: at.organization.subdomain, user: at.member.email };
    await runCommand(service.dataDir, 'user password', { ...which, password: OWNER_PASSWORD });
    const subject = personAt({ email: at.member.email });
    const events = await at.member.receiving({ event_types: ['linked_identities_changed'] });
    await new Browser(at).signIn(subject);
    const identity = { issuer: provider.issuer, providerName: 'Sign in at company' };
    expect(await listed(at.member)).toEqual([identity]);
    expect(await listed(at.administrator, at.member)).toEqual([identity]);
    for (const by of [at.moderator, foreign.owner]) expect(await listed(by, at.member)).toEqual([]);
    expect(await unlink(at.member, { issuer: other.issuer })).toMatchObject({ __typename: 'NotFoundError' });
    expect(await unlink(at.moderator, { userId: globalId('User', at.member.id) })).toMatchObject({
      code: 'UNAUTHORIZED_PRINCIPAL',
    });
    // A session that began with it continues.
    const browser = new Browser(at);
    await browser.signIn(subject);
    expect(await unlink(at.member)).toMatchObject({ __typename: 'UnlinkIdentityPayload' });
    expect(await browser.viewer()).toMatchObject({ databaseId: at.member.id });
    expect(await listed(at.member)).toEqual([]);
    expect(await events()).toEqual(Array(2).fill({ type: 'linked_identities_changed' }));
    const mail = await service.app.db.outgoingMail.findFirst({
      where: { recipient: at.member.email },
      orderBy: { id: 'desc' },
    });
    expect(mail?.body).toContain('you unlinked your account from Sign in at company.');
    const entries = await service.app.db.auditLogEntry.findMany({
      where: { organizationId: at.organization.id, action: 'identity_unlinked' },
    });
    expect(entries).toMatchObject([{ actorId: at.member.id, objectId: at.member.id, actorKind: 'user' }]);
    // The verified address links it again.
    await new Browser(at).signIn(subject);
    expect(await listed(at.member)).toEqual([identity]);
  });

  test('needs proof of the identity in a session', async () => {
    const at = await place();
    await connected(at);
    const browser = new Browser(at);
    await browser.signIn(personAt({ email: at.owner.email }));
    clock += 11 * MINUTE;
    const attempt = async (input: Json): Promise<Json> => {
      const query = `mutation ($input: UnlinkIdentityInput!) { unlinkIdentity(input: $input) { __typename } }`;
      const { text } = await browser.post(`${originOf(at.owner)}/graphql`, { query, variables: { input } });
      return JSON.parse(text).data.unlinkIdentity.__typename;
    };
    const input = { issuer: provider.issuer };
    expect(await attempt(input)).toBe('PasswordRequiredError');
    expect(await attempt({ ...input, currentPassword: 'wrong' })).toBe('ValidationError');
    expect(await attempt({ ...input, currentPassword: OWNER_PASSWORD })).toBe('UnlinkIdentityPayload');
  });

  test('of an owner is listed to owners only', async () => {
    const at = await place();
    await connected(at);
    await new Browser(at).signIn(personAt({ email: at.owner.email }));
    const { user: second } = await at.owner.mutate(
      'updateUser',
      { userId: globalId('User', at.member.id), role: 'OWNER', currentPassword: OWNER_PASSWORD },
      'user { role }',
    );
    expect(second).toEqual({ role: 'OWNER' });
    expect(await listed(at.administrator, at.owner)).toEqual([]);
    for (const by of [at.owner, at.member]) expect(await listed(by, at.owner)).toHaveLength(1);
    expect(await listed(at.owner, { id: 2 ** 31 - 1 })).toEqual([]);
  });

  test('stays if it is the only way to sign in, unless an administrator unlinks it', async () => {
    const at = await place();
    await connected(at, { domains: ['new.example'], createsAccounts: true });
    await connected(at, { slug: 'second', at: other, domains: ['new.example'] });
    const email = `only${made}@new.example`;
    const browser = new Browser(at);
    await browser.signIn(personAt({ email }));
    const { databaseId } = await browser.viewer();
    const user = await service.app.db.user.findFirstOrThrow({
      where: { organizationId: at.organization.id, id: databaseId },
    });
    const key = await runCommand(service.dataDir, 'key show', { org: at.organization.subdomain, user: email });
    const { api_key: apiKey } = key as { api_key: string };
    const person = new Person(at.owner, { ...at.owner, id: user.id, email, apiKey });
    expect(await unlink(person)).toMatchObject({ __typename: 'ConflictError' });
    await new Browser(at).signIn(personAt({ email }, other), { at: other, slug: 'second' });
    expect(await unlink(person)).toMatchObject({ __typename: 'UnlinkIdentityPayload' });
    expect(await unlink(person, { issuer: other.issuer })).toMatchObject({ __typename: 'ConflictError' });
    // A passkey counts once the person has signed in with it alone: it may be stored where it can only be a second factor.
    const authenticator = new Authenticator(originOf(at.owner));
    const addPasskey = async () => {
      const { options } = await person.mutate('beginPasskey', {}, 'options');
      const response = authenticator.create(options);
      await person.mutate('addPasskey', { name: 'Phone', response }, '__typename');
    };
    await addPasskey();
    expect(await unlink(person, { issuer: other.issuer })).toMatchObject({ __typename: 'ConflictError' });
    const begun = await at.anonymous.graphql(
      'mutation { beginPasskeySignIn { ... on BeginPasskeySignInPayload { options } } }',
    );
    const use = authenticator.use(begun.data.beginPasskeySignIn.options);
    const complete = `mutation ($input: CompletePasskeySignInInput!) { completePasskeySignIn(input: $input) { __typename } }`;
    const { data } = await at.anonymous.graphql(complete, { input: { response: use } });
    expect(data.completePasskeySignIn.__typename).toBe('CompletePasskeySignInPayload');
    const identity = await service.app.db.linkedIdentity.findFirstOrThrow({ where: { userId: user.id } });
    expect(await unlink(person, { issuer: other.issuer })).toMatchObject({ __typename: 'UnlinkIdentityPayload' });
    await service.app.db.linkedIdentity.create({ data: identity });
    const userId = globalId('User', user.id);
    expect(await unlink(at.administrator, { userId, issuer: other.issuer })).toMatchObject({
      __typename: 'UnlinkIdentityPayload',
    });
    await new Browser(at).signIn(personAt({ email: at.owner.email }));
    const ofOwner = { userId: globalId('User', at.owner.id) };
    expect(await unlink(at.administrator, ofOwner)).toMatchObject({ code: 'UNAUTHORIZED_PRINCIPAL' });
  });
});

/** Makes each deletion of a user's sessions fail while a function runs. */
async function withKeptSessions({ id }: Person, run: () => Promise<void>): Promise<void> {
  const { db } = service.app;
  await db.$executeRawUnsafe(`CREATE FUNCTION keep_session() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'This session is kept.'; END $$`);
  await db.$executeRawUnsafe(`CREATE TRIGGER keep_session BEFORE DELETE ON session
    FOR EACH ROW WHEN (OLD.user_id = ${id}) EXECUTE FUNCTION keep_session()`);
  try {
    await run();
  } finally {
    await db.$executeRawUnsafe('DROP FUNCTION keep_session CASCADE');
  }
}

describe('sign-out', () => {
  const PROVIDER = encodeURIComponent('{ signOutProvider { name path } }');
  const signOutProvider = async (browser: Browser, at: Place): Promise<Json> => {
    const headers = { 'graphql-require-preflight': '1' };
    const { text } = await browser.open(`${originOf(at.owner)}/graphql?query=${PROVIDER}`, headers);
    return JSON.parse(text).data.signOutProvider;
  };
  const path = '/accounts/logout/openid/company';

  test('at the provider is offered for sessions that began there, and comes back', async () => {
    const at = await place();
    const { redirectUri } = await connected(at);
    await connected(at, { slug: 'other', at: other });
    const subject = personAt({ email: at.member.email });
    const browser = new Browser(at);
    await browser.signIn(subject);
    expect(await signOutProvider(browser, at)).toEqual({ name: 'Sign in at company', path });
    expect(await at.member.query('{ signOutProvider { name } }')).toEqual({ signOutProvider: null });
    const reply = await browser.open(`${originOf(at.owner)}${path}`);
    const url = new URL(reply.headers.location ?? '');
    expect([reply.status, `${url.origin}`]).toEqual([303, provider.issuer]);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: expect.any(String),
      post_logout_redirect_uri: new URL('/', redirectUri).href,
    });
    expect(await provider.signOut(url.href, subject)).toBe(new URL('/', redirectUri).href);
    // A provider without the endpoint.
    const silent = new Browser(at);
    await silent.signIn(personAt({ email: at.guest.email }, other), { at: other, slug: 'other' });
    expect(await signOutProvider(silent, at)).toBeNull();
    const none = await silent.open(`${originOf(at.owner)}/accounts/logout/openid/other`);
    expect(outcome(none)).toEqual([404, 'Sign in at other has no sign-out.']);
    expect((await silent.open(`${originOf(at.owner)}/accounts/logout/openid/missing`)).status).toBe(404);
  });

  test('at the provider ends the sessions that began there', async () => {
    const [at, foreign] = [await place(), await place()];
    await connected(at);
    await connected(foreign);
    const subject = personAt({ email: at.member.email });
    const [first, second] = [new Browser(at), new Browser(at)];
    await first.signIn(subject);
    const leave = async () => {
      const { headers } = await first.open(`${originOf(at.owner)}${path}`);
      const before = provider.logoutTokens.length;
      await provider.signOut(headers.location ?? '', subject);
      await expect.poll(() => provider.logoutTokens.length).toBe(before + 1);
      return provider.logoutTokens.at(-1) ?? '';
    };
    const token = await leave();
    await second.signIn(subject);
    // The provider named no session in the ID token of this one.
    const unnamed = new Browser(at);
    await unnamed.signIn(subject);
    const { db } = service.app;
    const { organizationId, id } = await db.session.findFirstOrThrow({
      where: { userId: at.member.id },
      orderBy: { id: 'desc' },
    });
    await db.session.update({ where: { organizationId_id: { organizationId, id } }, data: { providerSession: null } });
    const notify = async (logout_token: string, to = at) => {
      const reply = await send(service.url, {
        ...{ method: 'POST', path: `${path}/back-channel` },
        headers: { host: to.owner.host, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ logout_token }).toString(),
      });
      return reply.status;
    };
    const [header, payload, signature] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload ?? '', 'base64url').toString());
    expect(claims).toMatchObject({ sid: expect.any(String), sub: subject });
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const forged = [
      ...['', 'nonsense', `${header}.${payload}.`, `${header}.${payload}.${signature?.slice(0, -4)}AAAA`],
      `${encode({ alg: 'none' })}.${payload}.`,
      `${header}.${encode({ ...claims, sid: undefined })}.${signature}`,
    ];
    for (const bad of forged) expect([bad, await notify(bad)]).toEqual([bad, 400]);
    // Signed by the provider, but no logout token for this client.
    const { iat } = claims;
    for (const change of [
      ...[
        { aud: 'another-client' },
        { iss: other.issuer },
        { events: undefined },
        { events: {} },
        { events: 'logout' },
      ],
      ...[
        { nonce: 'x' },
        { jti: undefined },
        { sub: undefined, sid: undefined },
        { iat: iat - 700 },
        { exp: undefined },
      ],
      { exp: iat - 120, iat: iat - 180 },
    ]) {
      const bad = await provider.sign({ ...claims, ...change });
      expect([change, await notify(bad)]).toEqual([change, 400]);
    }
    expect(await notify(token, foreign)).toBe(400);
    clock += 20 * MINUTE;
    expect(await notify(token)).toBe(400);
    clock -= 20 * MINUTE;
    expect(await first.viewer()).toMatchObject({ databaseId: at.member.id });
    // A request that fails can be repeated.
    await withKeptSessions(at.member, async () => expect(await notify(token)).toBe(500));
    expect(await first.viewer()).toMatchObject({ databaseId: at.member.id });
    expect(await notify(token)).toBe(200);
    expect(await first.viewer()).toBeUndefined();
    expect(await unnamed.viewer()).toBeUndefined();
    // Another session at the provider continues, and the key of the person.
    expect(await second.viewer()).toMatchObject({ databaseId: at.member.id });
    await at.member.ok('GET', '/users/me');
    expect(await notify(token)).toBe(400);
  });
});

test('logout tokens cause few requests to the provider', async () => {
  await using own = await startOpenIdProvider();
  const [at, foreign] = [await place(), await place()];
  await connected(at, { at: own });
  const reads = () => ({ ...own.reads });
  const notify = async (logout_token: string, to = at) => {
    const reply = await send(service.url, {
      ...{ method: 'POST', path: '/accounts/logout/openid/company/back-channel' },
      headers: { host: to.owner.host, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ logout_token }).toString(),
    });
    return reply.status;
  };
  const { clientId: aud } = await service.app.db.identityProvider.findFirstOrThrow({
    where: { organizationId: at.organization.id },
  });
  let tokens = 0;
  const claims = () => ({
    ...{ iss: own.issuer, aud, sub: 'x', jti: `token-${++tokens}`, iat: Math.floor(clock / 1000) },
    ...{ exp: Math.floor(clock / 1000) + 120, events: { 'http://schemas.openid.net/event/backchannel-logout': {} } },
  });
  // Signed by a stranger, with the id of a key that the provider does not have.
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const forged = (change: object = {}, header: object = {}) =>
    new SignJWT({ ...claims(), ...change })
      .setProtectedHeader({ alg: 'RS256', kid: `unknown-${tokens}`, ...header })
      .sign(privateKey);
  // Everything that needs no key is checked without a request.
  const before = reads();
  for (const bad of [
    ...['', 'a.b.c', '..', 'x'.repeat(9000), `${'e30'.repeat(500)}.e30.e30`],
    ...[await forged({ iss: other.issuer }), await forged({ aud: 'x' }), await forged({ jti: undefined })],
    ...[await forged({ events: {} }), await forged({ nonce: 'x' }), await forged({ sub: undefined })],
    ...[await forged({ iat: claims().iat - 800 }), await forged({ exp: claims().iat - 800 })],
    await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256' }).sign(new Uint8Array(32)),
  ]) {
    expect(await notify(bad)).toBe(400);
  }
  expect(reads()).toEqual(before);
  // Unknown keys: one read in 30 seconds, also for concurrent tokens.
  const many = () => Promise.all(Array.from({ length: 10 }, async () => notify(await forged())));
  expect(new Set([...(await many()), ...(await many())])).toEqual(new Set([400]));
  expect(reads()).toEqual({ metadata: before.metadata + 1, keys: before.keys + 1 });
  expect(await notify(await own.sign(claims()))).toBe(200);
  expect(await notify(await own.sign(claims()), foreign)).toBe(404);
  expect(reads()).toEqual({ metadata: before.metadata + 1, keys: before.keys + 1 });
  // A new key of the provider is read, but not within the pause.
  own.rotate();
  expect(await notify(await own.sign(claims()))).toBe(400);
  clock += MINUTE / 2;
  expect(await notify(await own.sign(claims()))).toBe(200);
  expect(reads().keys).toBe(before.keys + 2);
  // If the provider does not respond, the keys that were read stay good for ten minutes, and it is asked once in 30 seconds.
  own.instead = (_request, response) => response.writeHead(500).end();
  clock += MINUTE / 2;
  const down = reads();
  expect(await notify(await forged())).toBe(502);
  expect(await notify(await own.sign(claims()))).toBe(200);
  expect(await notify(await forged())).toBe(400);
  expect(reads().metadata).toBe(down.metadata + 1);
  clock += 10 * MINUTE;
  expect([...(await many()), ...(await many())]).toEqual(Array(20).fill(502));
  expect(reads().metadata).toBe(down.metadata + 2);
  own.instead = undefined;
  expect(await notify(await own.sign(claims()))).toBe(502);
  clock += MINUTE / 2;
  expect(await notify(await own.sign(claims()))).toBe(200);
});

test('a lost client secret of one organization leaves the logout tokens of others', async () => {
  await using own = await startOpenIdProvider();
  const [broken, sound] = [await place(), await place()];
  for (const at of [broken, sound]) await connected(at, { at: own });
  const where = { organizationId: broken.organization.id };
  await service.app.db.identityProvider.updateMany({ where, data: { sealedSecret: new Uint8Array(64) } });
  const notify = async (at: Place) => {
    const { clientId: aud } = await service.app.db.identityProvider.findFirstOrThrow({
      where: { organizationId: at.organization.id },
    });
    const iat = Math.floor(clock / 1000);
    const claims = { iss: own.issuer, aud, sub: 'x', jti: randomBytes(8).toString('hex'), iat, exp: iat + 120 };
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    const { status } = await send(service.url, {
      ...{ method: 'POST', path: '/accounts/logout/openid/company/back-channel' },
      headers: { host: at.owner.host, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ logout_token: await own.sign({ ...claims, events }) }).toString(),
    });
    return status;
  };
  expect([await notify(broken), await notify(sound)]).toEqual([502, 200]);
});

describe('an attack', () => {
  test('with a wrong, missing or foreign state is refused', async () => {
    const at = await place();
    await connected(at);
    const subject = personAt({ email: at.member.email });
    const [victim, attacker] = [new Browser(at), new Browser(at)];
    const stolen = await provider.signIn(await attacker.begin(), subject);
    expect(outcome(await victim.back(stolen))).toEqual(EXPIRED);
    await victim.begin();
    expect(outcome(await victim.back(stolen))).toEqual(EXPIRED);
    for (const change of [
      (url: URL) => url.searchParams.delete('state'),
      (url: URL) => url.searchParams.set('state', 'x'),
    ]) {
      const browser = new Browser(at);
      const url = new URL(await provider.signIn(await browser.begin(), subject));
      change(url);
      expect(outcome(await browser.back(url.href))).toEqual(EXPIRED);
      expect(await browser.viewer()).toBeUndefined();
    }
  });

  test('with another nonce is refused', async () => {
    const at = await place();
    await connected(at);
    const browser = new Browser(at);
    for (const nonce of ['other', '']) {
      const url = new URL(await browser.begin());
      if (nonce === '') url.searchParams.delete('nonce');
      else url.searchParams.set('nonce', nonce);
      const back = await provider.signIn(url.href, personAt({ email: at.member.email }));
      expect(outcome(await browser.back(back))).toEqual(INVALID);
    }
    expect(await browser.viewer()).toBeUndefined();
  });

  test('with a used code, a used response or another challenge is refused', async () => {
    const at = await place();
    await connected(at);
    const subject = personAt({ email: at.member.email });
    const browser = new Browser(at);
    const first = await browser.begin();
    const cookies = new Browser(at);
    const reply = await cookies.open(`${originOf(at.owner)}${pathOf('company')}`);
    // Another browser gets a copy of the cookie, as after a theft.
    const copy = new Browser(at);
    copy.keep(new URL(originOf(at.owner)).hostname, reply);
    const used = await provider.signIn(reply.headers.location ?? '', subject);
    expect((await cookies.back(used)).status).toBe(303);
    expect(outcome(await copy.back(used))).toEqual(EXPIRED);
    expect(outcome(await cookies.back(used))).toEqual(EXPIRED);
    const replayed = new URL(await provider.signIn(first, subject));
    replayed.searchParams.set('code', new URL(used).searchParams.get('code') ?? '');
    expect(outcome(await browser.back(replayed.href))).toEqual(INVALID);
  });

  test('that mixes up two providers is refused', async () => {
    const at = await place();
    await connected(at);
    await connected(at, { slug: 'evil', at: other });
    const browser = new Browser(at);
    const honest = new URL(await browser.begin());
    const evil = new URL(await new Browser(at).begin('evil'));
    for (const name of ['state', 'nonce', 'code_challenge']) {
      evil.searchParams.set(name, honest.searchParams.get(name) ?? '');
    }
    const back = new URL(await other.signIn(evil.href, personAt({ email: at.member.email }, other)));
    expect(back.searchParams.get('iss')).toBe(other.issuer);
    back.pathname = `${pathOf('company')}/callback`;
    expect(outcome(await browser.back(back.href))).toEqual(INVALID);
    // At the callback of the other provider.
    const third = new Browser(at);
    const { searchParams } = new URL(await third.begin());
    back.searchParams.set('state', searchParams.get('state') ?? '');
    back.pathname = `${pathOf('evil')}/callback`;
    expect(outcome(await third.back(back.href))).toEqual(EXPIRED);
    // Without `iss`, which this provider must send, or with that of another one: the response is otherwise correct.
    for (const iss of [undefined, other.issuer, `${provider.issuer}/`, '']) {
      const again = new Browser(at);
      const correct = new URL(await provider.signIn(await again.begin(), personAt({ email: at.member.email })));
      if (iss === undefined) correct.searchParams.delete('iss');
      else correct.searchParams.set('iss', iss);
      expect([iss, ...outcome(await again.back(correct.href))]).toEqual([iss, ...INVALID]);
      expect(await again.viewer()).toBeUndefined();
    }
  });

  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const FORGED: Readonly<Record<string, (claims: JWTPayload, secret: string) => Promise<string> | string>> = {
    'no signature': (claims) => `${encode({ alg: 'none' })}.${encode(claims)}.`,
    'the signature of the client secret': (claims, secret) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret)),
    'the signature of another key': (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(stranger),
    'another audience': (claims) => provider.sign({ ...claims, aud: 'another-client' }),
    'no audience': ({ aud: _, ...claims }) => provider.sign(claims),
    'several audiences, for another party': ({ aud, ...claims }) =>
      provider.sign({ ...claims, aud: [String(aud), 'another-client'], azp: 'another-client' }),
    'several audiences and no party': ({ aud, ...claims }) =>
      provider.sign({ ...claims, aud: [String(aud), 'another-client'] }),
    'another issuer': (claims) => provider.sign({ ...claims, iss: other.issuer }),
    'an expiry in the past': (claims) => provider.sign({ ...claims, exp: (claims.iat ?? 0) - 600 }),
    'no expiry': ({ exp: _, ...claims }) => provider.sign(claims),
    'no subject': ({ sub: _, ...claims }) => provider.sign(claims),
    'an empty subject': (claims) => provider.sign({ ...claims, sub: '' }),
    'no nonce': ({ nonce: _, ...claims }) => provider.sign(claims),
    'the nonce of another sign-in': (claims) => provider.sign({ ...claims, nonce: 'x'.repeat(43) }),
    'a list as the nonce': (claims) => provider.sign({ ...claims, nonce: [claims['nonce']] }),
  };
  test.for(Object.keys(FORGED))('with an ID token that has %s is refused', async (name) => {
    const at = await place();
    const client = await provider.register(redirectUriOf(at.owner, 'company'));
    const input = { slug: 'company', name: 'Sign in at company', issuer: provider.issuer, ...client };
    await at.owner.mutate('createIdentityProvider', input, FIELDS);
    provider.idToken = async (token) => (await FORGED[name]?.(decodeJwt(token), client.clientSecret)) ?? token;
    const browser = new Browser(at);
    const [status] = outcome(await browser.signIn(personAt({ email: at.member.email })));
    expect([400, 502]).toContain(status);
    expect(await browser.viewer()).toBeUndefined();
    // The same token without the forgery is accepted.
    provider.idToken = (token) => provider.sign(decodeJwt(token));
    expect((await browser.signIn(personAt({ email: at.member.email }))).status).toBe(303);
  });

  test('that combines the address of one source with the verification of another is refused', async () => {
    const at = await place();
    await connected(at);
    const { email } = at.owner;
    // The ID token names the address of a victim. UserInfo verifies another one.
    provider.idToken = (token) => provider.sign({ ...decodeJwt(token), email });
    const browser = new Browser(at);
    await browser.signIn(personAt({ email: at.member.email }));
    expect(await browser.viewer()).toMatchObject({ email: at.member.email });
    // The ID token states that an address is verified, which only UserInfo names.
    provider.idToken = (token) => provider.sign({ ...decodeJwt(token), email_verified: true });
    const second = new Browser(at);
    const reply = await second.signIn(personAt({ email, email_verified: false }));
    expect(outcome(reply)).toEqual([403, 'Sign in at company did not send your email address.']);
    expect(await second.viewer()).toBeUndefined();
  });

  test('with an address that only looks like that of an account is refused', async () => {
    const at = await place();
    await connected(at, { domains: ['kelvin.example'], createsAccounts: true });
    const email = `kate.s${made}@kelvin.example`;
    const { db } = service.app;
    const { id } = at.member;
    const where = { organizationId_id: { organizationId: at.organization.id, id } };
    await db.user.update({ where, data: { email } });
    for (const lookalike of [
      ...[email.replace('k', '\u212A'), email.replace('@k', '@\u212A'), email.replace('s', '\u017F')],
      ...[email.replace('a', '\uFF41'), email.replace('a', '\u0430'), email.replace('kate', 'kate\u200B')],
      ...[`${email} `, `${email},x@kelvin.example`, `"${email}"@kelvin.example`, `<${email}>`].slice(1),
    ]) {
      const browser = new Browser(at);
      await browser.signIn(personAt({ email: lookalike }));
      const viewer = await browser.viewer();
      expect([lookalike, viewer?.databaseId === id]).toEqual([lookalike, false]);
    }
    expect(await db.linkedIdentity.count({ where: { organizationId: at.organization.id, userId: id } })).toBe(0);
    // The letter case of ASCII does not matter.
    const upper = new Browser(at);
    await upper.signIn(personAt({ email: email.toUpperCase() }));
    expect(await upper.viewer()).toMatchObject({ databaseId: id });
  });

  test('with an expired cookie is refused', async () => {
    const at = await place();
    await connected(at);
    const browser = new Browser(at);
    const url = await provider.signIn(await browser.begin(), personAt({ email: at.member.email }));
    clock += 11 * MINUTE;
    expect(outcome(await browser.back(url))).toEqual(EXPIRED);
  });

  test('cannot redirect to another site', async () => {
    const at = await place();
    await connected(at);
    const subject = personAt({ email: at.member.email });
    const leads = async (next: string) =>
      (await new Browser(at).signIn(subject, { query: `?next=${encodeURIComponent(next)}` })).headers.location;
    for (const next of [
      ...['/%2f%2fevil.example', '/%2fevil.example', '/%5cevil.example', '//evil.example/%2f..', '/./\t/evil.example'],
      ...['///evil.example', '/;@evil.example', '@evil.example', ' //evil.example', '/\u3000//evil.example'],
      ...['JaVaScRiPt:alert(1)//', 'data:text/html,x', 'https:evil.example', '/x/../..//evil.example', '\u0000//evil'],
      ...['https://evil.example/', '//evil.example', '/\\evil.example', '\\\\evil.example', '/\t/evil.example'],
      ...[
        'javascript:alert(1)',
        '/.//evil.example',
        '/%0d%0aLocation: x/..//evil.example',
        'evil',
        '/x\n',
        '/..//evil',
      ],
    ]) {
      const location = (await leads(next)) ?? '';
      expect(new URL(location, 'http://own.example').origin, next).toBe('http://own.example');
    }
    expect(await leads('/channels/3?x=1#y')).toBe('/channels/3?x=1#y');
    const { host, url } = at.owner;
    const evil = await send(url, { method: 'GET', path: pathOf('company'), headers: { host: 'evil.example' } });
    expect([evil.status, evil.headers.location]).toEqual([404, undefined]);
    const ported = host.replace(/:\d+$/, ':1');
    const reply = await send(url, { method: 'GET', path: pathOf('company'), headers: { host: ported } });
    expect(new URL(reply.headers.location ?? '').searchParams.get('redirect_uri')).toBe(
      redirectUriOf(at.owner, 'company'),
    );
  });

  test('from another organization is refused', async () => {
    const [one, two] = [await place(), await place()];
    const { id } = await connected(one);
    await connected(two);
    const subject = personAt({ email: one.member.email });
    const browser = new Browser(one);
    const url = new URL(await provider.signIn(await browser.begin(), subject));
    const cookies = new Browser(one);
    const reply = await cookies.open(`${originOf(one.owner)}${pathOf('company')}`);
    const abroad = new Browser(two);
    abroad.keep(new URL(originOf(two.owner)).hostname, reply);
    const state = new URL(reply.headers.location ?? '').searchParams.get('state') ?? '';
    url.searchParams.set('state', state);
    url.host = two.owner.host;
    expect(outcome(await abroad.back(url.href))).toEqual(EXPIRED);
    for (const name of ['updateIdentityProvider', 'deleteIdentityProvider']) {
      const { message } = await refused(two.owner, name, { identityProviderId: id });
      expect(message).toContain('identity provider does not exist');
    }
    expect(await two.owner.query('query ($id: ID!) { node(id: $id) { id } }', { id })).toEqual({ node: null });
  });
});

/** Runs a mutation that is refused. @returns The error. */
async function refused(person: Person, name: string, input: object): Promise<Json> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
  const { data, errors } = await person.graphql(
    `mutation ($input: ${type}!) { ${name}(input: $input) { __typename ... on ServiceError { code message path } } }`,
    { input },
  );
  return data?.[name] ?? errors?.[0];
}

describe('a provider', () => {
  test('that does not respond, or responds with nonsense, leads to a page', async () => {
    const at = await place();
    await connected(at);
    const failed = [502, 'Sign in at company does not respond as expected. Try again in a moment.'];
    const begin = async () => outcome(await new Browser(at).open(`${originOf(at.owner)}${pathOf('company')}`));
    provider.instead = (_request, response) => response.writeHead(500).end('no');
    expect(await begin()).toEqual(failed);
    provider.instead = (_request, response) => response.writeHead(302, { location: other.issuer }).end();
    expect(await begin()).toEqual(failed);
    provider.instead = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(`"${'x'.repeat(2 ** 20)}"`);
    };
    expect(await begin()).toEqual(failed);
    provider.instead = (_request, response) => {
      const metadata = { issuer: provider.issuer, authorization_endpoint: 'javascript:alert(1)' };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
    };
    expect(await begin()).toEqual(failed);
    provider.instead = undefined;
    const browser = new Browser(at);
    const url = await provider.signIn(await browser.begin(), personAt({ email: at.member.email }));
    provider.instead = () => {};
    const startedAt = performance.now();
    expect(outcome(await browser.back(url))).toEqual(failed);
    expect(performance.now() - startedAt).toBeLessThan(12_000);
  }, 30_000);

  test('that the person leaves without consent leads to a page', async () => {
    const at = await place();
    await connected(at);
    const browser = new Browser(at);
    const { searchParams } = new URL(await browser.begin());
    const query = { error: 'access_denied', state: searchParams.get('state') ?? '', iss: provider.issuer };
    const back = await browser.back(`${redirectUriOf(at.owner, 'company')}?${new URLSearchParams(query)}`);
    expect(outcome(back)).toEqual(INVALID);
  });

  test('is listed before sign-in while it is enabled', async () => {
    const at = await place();
    const listed = async () => {
      const reply = await at.anonymous.ok('GET', '/server_settings');
      const { data } = await at.anonymous.graphql(
        '{ serverSettings { authenticationMethods { openidConnect } externalAuthenticationMethods { name displayName displayIcon loginUrl signupUrl } } }',
      );
      const { externalAuthenticationMethods: methods, authenticationMethods } = data.serverSettings;
      expect(reply.external_authentication_methods).toEqual(
        methods.map((one: Json) => ({
          ...{ name: one.name, display_name: one.displayName, display_icon: one.displayIcon },
          ...{ login_url: one.loginUrl, signup_url: one.signupUrl },
        })),
      );
      expect(reply.authentication_methods['openid connect']).toBe(authenticationMethods.openidConnect);
      // For clients that sign in through the browser, with whatever method a person has.
      expect(methods.pop()).toMatchObject({ name: 'browser', loginUrl: '/sign-in/app' });
      return [authenticationMethods.openidConnect, ...methods.map(({ name, loginUrl }: Json) => [name, loginUrl])];
    };
    const events = await at.member.receiving({ event_types: ['realm'] });
    const registered = async () =>
      (await at.member.register({ fetch_event_types: ['realm'] })).realm_authentication_methods;
    const methods = (enabled: boolean) => ({
      Email: { enabled: true, available: true },
      'OpenID Connect': { enabled, available: true },
    });
    expect([await listed(), await registered()]).toEqual([[false], methods(false)]);
    const { id } = await connected(at);
    expect(await listed()).toEqual([true, ['openid:company', pathOf('company')]]);
    expect(await registered()).toEqual(methods(true));
    await connected(at, { slug: 'second' });
    const { identityProviders } = (await at.owner.query('{ organization { identityProviders { nodes { id slug } } } }'))
      .organization;
    const second = identityProviders.nodes.find(({ slug }: Json) => slug === 'second').id;
    await at.owner.mutate('deleteIdentityProvider', { identityProviderId: second }, 'identityProviderId');
    await at.owner.mutate('updateIdentityProvider', { identityProviderId: id, isEnabled: false }, FIELDS);
    expect([await listed(), await registered()]).toEqual([[false], methods(false)]);
    const update = (enabled: boolean) => ({
      ...{ type: 'realm', op: 'update_dict', property: 'default' },
      data: { authentication_methods: methods(enabled) },
    });
    expect(await events()).toEqual([update(true), update(false)]);
    const off = await new Browser(at).open(`${originOf(at.owner)}${pathOf('company')}`);
    expect(outcome(off)).toEqual([404, expect.stringContaining('has no such sign-in provider.')]);
  });

  test('is configured by owners, who prove their identity', async () => {
    const at = await place();
    const { owner, member, administrator } = at;
    const events = await owner.receiving({ event_types: ['identity_providers_changed'] });
    const heard = await administrator.receiving({ event_types: ['identity_providers_changed'] });
    const { id } = await connected(at);
    const list = '{ organization { identityProviders { nodes { id slug issuer clientId } } } }';
    const listed = async (by: Person) => (await by.query(list)).organization.identityProviders.nodes;
    expect([(await listed(owner)).length, await listed(administrator), await listed(member)]).toEqual([1, [], []]);
    const change = (input: object, by = owner) =>
      refused(by, 'updateIdentityProvider', { identityProviderId: id, ...input });
    expect((await change({ name: 'x' }, administrator)).code).toBe('UNAUTHORIZED_PRINCIPAL');
    const input = { slug: 'b', name: 'B', issuer: provider.issuer, clientId: 'b', clientSecret: 'c' };
    const create = (more: object) => refused(owner, 'createIdentityProvider', { ...input, ...more });
    for (const [more, path] of [
      ...([
        [{ slug: 'A b' }, 'slug'],
        [{ slug: '-a' }, 'slug'],
        [{ slug: 'company' }, 'slug'],
        [{ name: ' ' }, 'name'],
      ] as const),
      ...([
        [{ issuer: 'http://example.com' }, 'issuer'],
        [{ issuer: 'https://10.0.0.1' }, 'issuer'],
      ] as const),
      ...([
        [{ issuer: 'https://x.example/?a' }, 'issuer'],
        [{ clientSecret: '' }, 'clientSecret'],
      ] as const),
      ...([
        [{ issuer: 'https://[::ffff:169.254.169.254]/' }, 'issuer'],
        [{ issuer: 'https://u:p@x.example' }, 'issuer'],
      ] as const),
      ...([
        [{ domains: ['nonsense'] }, 'domains'],
        [{ createsAccounts: true }, 'domains'],
      ] as const),
      ...([[{ groupRules: [{ value: 'x' }] }, 'groupsClaim']] as const),
    ] as const) {
      const error = await create(more);
      expect([error.path?.[1], JSON.stringify(more)], JSON.stringify(error)).toEqual([path, JSON.stringify(more)]);
    }
    expect((await change({ issuer: other.issuer })).message).toBe('A new issuer requires a client secret.');
    const session = new Browser(at);
    await session.signIn(personAt({ email: owner.email }));
    clock += 11 * MINUTE;
    const document = `mutation { deleteIdentityProvider(input: { identityProviderId: "${id}" }) { __typename } }`;
    const query = `${originOf(owner)}/graphql`;
    const reply = await session.post(query, { query: document });
    expect(JSON.parse(reply.text).data).toEqual({ deleteIdentityProvider: { __typename: 'PasswordRequiredError' } });
    const { app } = service;
    const where = { organizationId: at.organization.id };
    expect(await app.db.linkedIdentity.count({ where })).toBe(1);
    await owner.mutate('deleteIdentityProvider', { identityProviderId: id }, 'identityProviderId');
    expect([await listed(owner), await app.db.linkedIdentity.count({ where })]).toEqual([[], 0]);
    expect((await events()).map(({ type }: Json) => type)).toEqual(Array(2).fill('identity_providers_changed'));
    expect(await heard()).toEqual([]);
  });
});

test('operators add, list and remove providers', async () => {
  const at = await place();
  const { subdomain: org } = at.organization;
  const client = await provider.register(redirectUriOf(at.owner, 'company'));
  const given = { org, slug: 'company', name: 'Sign in at company', issuer: provider.issuer, ...client };
  const added = await runCommand(service.dataDir, 'sso add', given);
  expect(added).toMatchObject({ redirect_uri: redirectUriOf(at.owner, 'company'), enabled: true, domains: '' });
  expect(JSON.stringify(added)).not.toContain(client.clientSecret);
  expect(await runCommand(service.dataDir, 'sso list', { org })).toEqual([added]);
  const browser = new Browser(at);
  await browser.signIn(personAt({ email: at.member.email }));
  expect(await browser.viewer()).toMatchObject({ email: at.member.email });
  await runCommand(service.dataDir, 'sso remove', { org, slug: 'company' });
  expect(await runCommand(service.dataDir, 'sso list', { org })).toEqual([]);
});

test('an organization has at most 20 providers', async () => {
  const at = await place();
  const input = { name: 'B', issuer: provider.issuer, clientId: 'b', clientSecret: 'c' };
  const create = (i: number) => refused(at.owner, 'createIdentityProvider', { slug: `provider-${i}`, ...input });
  for (let i = 0; i < 19; i++) expect((await create(i)).__typename).toBe('CreateIdentityProviderPayload');
  const both = (await Promise.all([create(19), create(20)])).map(({ __typename }) => __typename);
  expect(both.sort()).toEqual(['ConflictError', 'CreateIdentityProviderPayload']);
  const { app } = service;
  expect(await app.db.identityProvider.count({ where: { organizationId: at.organization.id } })).toBe(20);
});

describe('clients that open a browser', () => {
  const otp = randomBytes(32).toString('hex');

  test('on a phone receive the API key, which only their secret opens', async () => {
    const at = await place();
    await connected(at);
    const subject = personAt({ email: at.member.email });
    const done = await new Browser(at).signIn(subject, { query: `?mobile_flow_otp=${otp}` });
    const { protocol, host, searchParams } = new URL(done.headers.location ?? '');
    expect([done.status, protocol, host]).toEqual([303, 'team-chat:', 'login']);
    const { realm, email, user_id, otp_encrypted_api_key = '' } = Object.fromEntries(searchParams);
    expect([realm, email, user_id]).toEqual([originOf(at.owner), at.member.email, String(at.member.id)]);
    const secret = Buffer.from(otp, 'hex');
    const key = Buffer.from(otp_encrypted_api_key, 'hex').map((byte, i) => byte ^ (secret[i] ?? 0));
    const { api_key } = await at.member.ok('GET', '/users/me/api_key').catch(() => ({ api_key: undefined }));
    expect(Buffer.from(key).toString()).toMatch(/^[A-Za-z0-9]{32}$/);
    if (api_key !== undefined) expect(Buffer.from(key).toString()).toBe(api_key);
    expect(done.headers['set-cookie']?.some((line) => line.includes('session'))).toBe(false);
    const bad = await new Browser(at).open(`${originOf(at.owner)}${pathOf('company')}?mobile_flow_otp=xyz`);
    expect(outcome(bad)).toEqual([400, 'The client sent an invalid secret.']);
  });

  test('on a desktop receive a token by a code, which begins a session once', async () => {
    const at = await place();
    await connected(at);
    const subject = personAt({ email: at.member.email });
    const tokenFor = async () => {
      const { status, text } = await new Browser(at).signIn(subject, { query: `?desktop_flow_otp=${otp}` });
      expect(status).toBe(200);
      const code = Buffer.from(/<code>([0-9a-f]+)<\/code>/.exec(text)?.[1] ?? '', 'hex');
      const decipher = createDecipheriv('aes-256-gcm', Buffer.from(otp, 'hex'), code.subarray(0, 12));
      decipher.setAuthTag(code.subarray(-16));
      return Buffer.concat([decipher.update(code.subarray(12, -16)), decipher.final()]).toString();
    };
    const token = await tokenFor();
    const client = new Browser(at);
    const url = `${originOf(at.owner)}/accounts/login/subdomain/${token}`;
    expect((await client.open(url)).status).toBe(303);
    expect(await client.viewer()).toMatchObject({ email: at.member.email });
    // The sign-out at the provider ends this session as well.
    const { headers } = await client.open(`${originOf(at.owner)}/accounts/logout/openid/company`);
    const origin = { providerSubject: subject, providerSession: expect.any(String), providerSignsOut: true };
    const session = await service.app.db.session.findFirstOrThrow({ where: { userId: at.member.id } });
    const entry = await service.app.db.auditLogEntry.findFirstOrThrow({
      where: { organizationId: at.organization.id, action: 'signed_in' },
    });
    expect(entry.details).toMatchObject({ method: { new: 'single sign-on' }, provider: { new: 'company' } });
    expect([session, new URL(headers.location ?? '').origin]).toMatchObject([origin, provider.issuer]);
    const late = [400, 'This sign-in has expired. Sign in again.'];
    expect(outcome(await new Browser(at).open(url))).toEqual(late);
    const old = `${originOf(at.owner)}/accounts/login/subdomain/${await tokenFor()}`;
    clock += 2 * MINUTE;
    expect(outcome(await new Browser(at).open(old))).toEqual(late);
    // A link in a page of another site, and a deactivation in between.
    const last = `${originOf(at.owner)}/accounts/login/subdomain/${await tokenFor()}`;
    const linked = await new Browser(at).open(last, { 'sec-fetch-site': 'cross-site' });
    expect([linked.status, linked.headers['set-cookie']]).toEqual([403, undefined]);
    await at.owner.ok('DELETE', `/users/${at.member.id}`);
    expect(outcome(await new Browser(at).open(last))).toEqual([401, 'Account is deactivated']);
  });
});

test.runIf((process.env['DATABASE_URL'] ?? '') !== '')(
  'a sign-in can begin on one node and end on another',
  async () => {
    const at = await place();
    await connected(at);
    const env = { DATABASE_URL: service.app.config.databaseUrl ?? '', SECRET_KEY: 'in process '.repeat(4) };
    await using node = await startInProcess({
      env: { ...env, EXTERNAL_HOST: `http://localhost:${new URL(service.url).port}` },
    });
    const begun = new Browser(at);
    const reply = await begun.open(`${originOf(at.owner)}${pathOf('company')}`);
    const back = await provider.signIn(reply.headers.location ?? '', personAt({ email: at.member.email }));
    const { pathname, search } = new URL(back);
    const cookie = (reply.headers['set-cookie'] ?? []).map((line) => line.split(';')[0]).join('; ');
    const name = cookie.split('=')[0] ?? '';
    // The second node has the cookie name of EXTERNAL_HOST; behind a proxy both nodes have the same one.
    const value = cookie.slice(name.length + 1);
    const cookies = [name, `chat-sso-${new URL(service.url).port}`].map((one) => `${one}=${value}`).join('; ');
    const headers = { host: at.owner.host, cookie: cookies };
    const done = await send(node.url, { method: 'GET', path: pathname + search, headers });
    expect([done.status, done.headers.location]).toEqual([303, '/']);
  },
);

// The last test: it replaces the keys of all users of the service.
test('client secrets are sealed with a new SECRET_KEY, and a lost key disables the providers', async () => {
  const at = await place();
  const { id } = await connected(at);
  const { app } = service;
  const where = { organizationId: at.organization.id };
  const before = await app.db.identityProvider.findFirstOrThrow({ where });
  const secret = app.keys.open(before.sealedSecret ?? new Uint8Array());
  const former = app.config.secretKey ?? loadSecretKey(app.config);
  const next = 'n'.repeat(48);
  await reseal({ db: app.db, keys: new KeyVault(next, former) });
  const after = await app.db.identityProvider.findFirstOrThrow({ where });
  expect(new KeyVault(next).open(after.sealedSecret ?? new Uint8Array())).toBe(secret);
  expect((await renewSealed(app)).identity_providers).toBeGreaterThan(0);
  expect(await app.db.identityProvider.findFirstOrThrow({ where })).toMatchObject({
    isEnabled: false,
    sealedSecret: null,
  });
  const row = await app.db.apiKey.findFirstOrThrow({ where: { ...where, userId: at.owner.id } });
  const owner = new Person(at.owner, { ...at.owner, apiKey: app.keys.open(row.sealed) });
  const enable = { identityProviderId: id, isEnabled: true };
  expect((await refused(owner, 'updateIdentityProvider', enable)).message).toContain('The client secret was lost');
  const { identityProvider } = await owner.mutate(
    'updateIdentityProvider',
    { ...enable, clientSecret: secret },
    FIELDS,
  );
  expect(identityProvider).toMatchObject({ isEnabled: true, hasClientSecret: true });
});
