import { readFileSync } from 'node:fs';
import type { RequestCtx } from '../../src/access/context.ts';
import { signIn } from '../../src/access/sign-in.ts';
import type { GraphQLContext } from '../../src/api/graphql/loading/context.ts';
import { demoFile, prepareDemo } from '../../src/server/demo/demo.ts';
import type { ShownUser } from '../../src/server/operator/commands.ts';
import { runCommand } from './control.ts';
import { type InProcess, startInProcess } from './in-process.ts';
import { Person, Visitor } from './person.ts';
import { PNG, plain } from './pictures.ts';
import { makeObjects } from './scene.ts';
import { createOrganization } from './server.ts';

/** The demo organization with more objects of each kind, and another organization on the same service. */
export interface PopulatedDemo extends AsyncDisposable {
  readonly service: InProcess;
  /** The demo users by the local part of their email addresses: iris (owner), aaron, mona, bela, cleo, dana, gus; bot. */
  readonly people: Readonly<Record<DemoName, Person>>;
  /** A member of the other organization. */
  readonly foreigner: Person;
  /** A client of the demo organization without credentials. */
  readonly anonymous: Visitor;
  readonly channels: { readonly general: number; readonly secret: number; readonly later: number };
}

const NAMES = ['iris', 'aaron', 'mona', 'bela', 'cleo', 'dana', 'gus', 'bot'] as const;
type DemoName = (typeof NAMES)[number];

/**
 * Starts a service with the demo organization, and adds objects: channels of each kind, topics, direct messages, reactions,
 * flags, mentions, edits, files, profiles, statuses, bots, API keys, groups, emoji, an invitation link, an identity provider,
 * and users and groups that were deactivated. After that, the clock of the service stands still, so that the same read always has the same result.
 */
export async function startPopulatedDemo(): Promise<PopulatedDemo> {
  let stopped: Date | undefined;
  const service = await startInProcess({ env: { DEMO: 'on' }, now: () => stopped ?? new Date() });
  await prepareDemo(service.app);
  const { users } = JSON.parse(readFileSync(demoFile(service.app), 'utf8')) as { users: readonly ShownUser[] };
  const place = { url: service.url, host: new URL(service.url).host };
  const people = Object.fromEntries(
    NAMES.map((name, i) => {
      const { user_id: id, email, api_key: apiKey } = users[i] as ShownUser;
      return [name, new Person(place, { id, name, email, apiKey, role: 0 })];
    }),
  ) as Record<DemoName, Person>;
  const channels = await populate(service.dataDir, people);
  const other = await createOrganization({}, { on: service });
  const { id } = await other.owner.ok('POST', '/channels/create', {
    name: 'general',
    subscribers: [other.owner.id, other.member.id],
  });
  await other.owner.ok('POST', '/messages', { type: 'channel', to: id, topic: 'launch', content: 'hello dock' });
  await other.owner.ok('POST', '/messages', { type: 'direct', to: [other.member.id], content: 'hello' });
  stopped = new Date();
  const anonymous = new Visitor(place);
  return {
    ...{ service, people, foreigner: other.member, anonymous, channels },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

async function populate(dataDir: string, { iris, aaron, mona, bela, cleo, dana, gus, bot }: Record<DemoName, Person>) {
  const subscriptions = await iris.ok('GET', '/users/me/subscriptions');
  const named = (name: string): number =>
    subscriptions.subscriptions.find((one: { name: string }) => one.name === name).stream_id;
  const general = named('general');
  const create = async (name: string, more: object): Promise<number> =>
    (await iris.ok('POST', '/channels/create', { name, ...more })).id;
  const secret = await create('secret', { invite_only: true, subscribers: [iris.id, bela.id, bot.id] });
  const later = await create('later', {
    ...{ invite_only: true, history_public_to_subscribers: false, subscribers: [iris.id, mona.id] },
    can_send_message_group: { direct_members: [iris.id, mona.id], direct_subgroups: [] },
  });
  const say = async (by: Person, to: number, topic: string, content: string): Promise<number> =>
    (await by.ok('POST', '/messages', { type: 'channel', to, topic, content })).id;
  const messages: number[] = [];
  for (const [i, by] of [iris, bela, mona, bot, iris, bela].entries()) {
    const to = by === mona ? later : secret;
    messages.push(await say(by, to, `plan ${i % 3}`, `hello @**Iris Haddad** ${i} https://example.com/${i}`));
  }
  await iris.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'later' }], principals: [dana.id] });
  messages.push(await say(iris, later, 'plan 0', 'hello @**Dana Okafor** at the dock'));
  for (const [i, by] of [aaron, gus, dana, cleo].entries()) {
    messages.push(await say(by, general, i === 1 ? '' : `✔ party ${i}`, `build **${i}** @*web crew* :boat:`));
  }
  for (const [i, id] of messages.entries()) {
    await iris.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'heart' });
    if (i % 2 === 0) await iris.rest('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'starred' });
  }
  const [, , , , first, last] = messages as [number, number, number, number, number, number];
  await iris.ok('PATCH', `/messages/${first}`, { content: 'hello again' });
  await bela.ok('PATCH', `/messages/${last}`, { content: 'edited @**Iris Haddad**' });
  await bela.ok('POST', '/messages/flags', { messages: [last], op: 'add', flag: 'read' });
  await iris.ok('PATCH', `/messages/${first}`, { topic: 'moved', propagate_mode: 'change_one' });
  await iris.ok('PATCH', `/streams/${secret}`, { message_retention_days: 30 });
  const picture = await plain('teal', { width: 90, height: 60 }).png().toBuffer();
  const { url } = await iris.ok('POST', '/user_uploads', { file: picture });
  messages.push(await say(iris, general, 'https://example.com/plan', `the sea [sea.png](${url})`));
  const provider = { slug: 'demo', name: 'Provider', issuer: 'https://identity.example', clientId: 'chat' };
  const more = { clientSecret: 'secret', domains: ['example.com'] };
  await iris.mutate('createIdentityProvider', { ...provider, ...more }, '__typename');
  for (const by of [iris, bela, bot])
    await by.mutate('createApiKey', { name: 'Timetable', scopes: ['READ'] }, 'secret');
  await iris.mutate('createInviteLink', {}, '__typename');
  await iris.ok('POST', '/users/me/alert_words', { alert_words: ['dock', 'otter'] });
  await iris.mutate('addOrganizationDomain', { domain: 'example.com', allowSubdomains: false }, '__typename');
  for (const [by, to] of [
    [dana, [gus.id]],
    [gus, [dana.id, bela.id]],
    [bot, [iris.id]],
  ] as const) {
    await by.ok('POST', '/messages', { type: 'direct', to, content: 'hello' });
  }
  for (const [i, by] of [iris, bela, dana].entries()) {
    await makeObjects(by, {
      channelId: general,
      topic: 'summer party',
      messageId: messages.at(-1) as number,
      text: 'x',
    });
    await by.ok('POST', '/user_topics', { stream_id: general, topic: 'summer party', visibility_policy: i + 1 });
    await by.ok('POST', '/users/me/presence', { status: 'active', ping_only: true });
    await by.ok('POST', '/users/me/status', { status_text: `away ${i}` });
    await by.mutate('addNavigationView', { fragment: `narrow/${i}`, isPinned: true, name: `view ${i}` }, '__typename');
  }
  const { id: fieldId } = await iris.ok('POST', '/realm/profile_fields', { field_type: 6, name: 'mentor', hint: '' });
  await dana.ok('PATCH', '/users/me/profile_data', { data: [{ id: fieldId, value: [iris.id, gus.id] }] });
  for (const name of ['otter', 'heron']) await iris.ok('POST', `/realm/emoji/${name}`, { file: PNG });
  await iris.ok('DELETE', '/realm/emoji/heron');
  await iris.ok('PATCH', '/realm', { description: 'Boats and docks', default_code_block_language: 'python' });
  const terms = {
    invite_as: 400,
    stream_ids: [general, secret],
    group_ids: [],
    welcome_message_custom_text: 'Welcome',
  };
  await iris.ok('POST', '/invites/multiuse', terms);
  const { user_id: botId } = await bela.ok('POST', '/bots', { full_name: 'Old Bot', short_name: 'old' });
  await bela.ok('DELETE', `/bots/${botId}`);
  const group = { description: '', members: [bela.id, gus.id] };
  const { group_id: ended } = await iris.ok('POST', '/user_groups/create', { name: 'ended', ...group });
  await iris.ok('POST', `/user_groups/${ended}/deactivate`);
  const leaver = { org: '', name: 'Former Member', role: 'member', email: 'former@example.com' };
  const { user_id: leaverId } = (await runCommand(dataDir, 'user create', leaver)) as ShownUser;
  await iris.ok('DELETE', `/users/${leaverId}`);
  return { general, secret, later };
}

/** Authenticates a visitor as a request does. */
export const authenticated = ({ service }: PopulatedDemo, { host, authorization }: Visitor): Promise<RequestCtx> =>
  signIn(service.app, { host, authorization, userAgent: undefined });

/** Returns the context of one operation. Loaders store their values by this object, so no two operations share one. */
export const contextOf = (request: RequestCtx): GraphQLContext => ({
  ...request,
  cost: { requested: 1, limit: 10_000, charged: 1 },
  budget: { limit: 200, remaining: 199, resetAt: new Date('2100-01-01T00:00:00Z') },
});
