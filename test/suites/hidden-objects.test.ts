import { beforeAll, describe, expect, test } from 'vitest';
import { routes } from '../../src/server/registries/features.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { expectAlike, type Outcome } from '../helpers/alike.ts';
import { OBJECTS } from '../helpers/features.ts';
import { globalId } from '../helpers/global-ids.ts';
import { documentOf, GRAPHQL_CALLS } from '../helpers/graphql-calls.ts';
import { Person } from '../helpers/person.ts';
import { pathOf, REST_CALLS } from '../helpers/rest-calls.ts';
import { makeScene, type Names, nothing, type Scene } from '../helpers/scene.ts';

// Tests that calls about objects that a user cannot see have the results of calls about nonexistent objects, by every name and
// in both APIs.

const schema = buildSchema();

/** Names and ids of objects that only the owner can see. */
type Hidden = Partial<Names> & Pick<Names, 'channelId' | 'channelName' | 'messageId'>;

/**
 * Calls that create channels. They reveal whether a channel exists, because channel names are unique. Guests cannot create
 * channels.
 */
const REVEAL_TAKEN_NAMES = ['POST /users/me/subscriptions', 'PATCH /users/me/subscriptions', 'Mutation.subscribe'];

let scene: Scene;
let hidden: Hidden;

beforeAll(async () => {
  const made = await makeScene();
  const { member } = made;
  const { user_id: id } = await member.ok('POST', '/bots', { full_name: 'Own bot', short_name: 'own' });
  const { body } = await member.rest('GET', `/bots/${id}/api_key`);
  const { user } = await member.ok('GET', `/users/${id}`);
  const account = { id, name: 'Own bot', email: user.email, apiKey: body.api_key, role: 400 };
  scene = { ...made, bot: new Person(member, account) };
  hidden = await hide(scene);
});

/** Creates one object of each kind that only its owner can see. */
async function hide({ owner, moderator, names }: Scene): Promise<Hidden> {
  const channel = (name: string) =>
    owner.ok('POST', '/channels/create', { name, subscribers: [owner.id], invite_only: true });
  const channelName = `secret of ${scene.organization.subdomain}`;
  const [{ id: channelId }, { id: archivedId }] = [await channel(channelName), await channel('secret and archived')];
  const note = { type: 'channel', to: channelId, topic: 'greetings', content: 'hello' };
  const { id: messageId } = await owner.ok('POST', '/messages', note);
  await owner.ok('DELETE', `/streams/${archivedId}`);
  const direct = await owner.ok('POST', '/messages', { type: 'direct', to: [moderator.id], content: 'hello' });
  const { moderationChannelId, fragment, navigationViewId, queueId } = names;
  return {
    ...{ channelId, channelName, archivedId, messageId, directMessageId: direct.id },
    ...{ moderationChannelId, fragment, navigationViewId, queueId },
    ...Object.fromEntries(Object.entries(names).filter(([name]) => name in OBJECTS)),
  };
}

/** Users who cannot see the owner's objects. The bot's owner cannot see them either. */
const VIEWERS = ['member', 'guest', 'bot'] as const;
type Viewer = (typeof VIEWERS)[number];

const expectLikeNothing = async <C>(
  viewer: Viewer,
  name: string,
  calls: (names: Names) => readonly C[],
  make: (who: Person, call: C) => Promise<Outcome>,
) => {
  const kinds = (Object.keys(hidden) as (keyof Hidden)[]).filter(
    (kind) => kind !== 'channelName' || !REVEAL_TAKEN_NAMES.includes(name) || viewer === 'guest',
  );
  return expectAlike({ own: scene.names, foreign: { ...nothing(), ...hidden }, kinds }, calls, (call) =>
    make(scene[viewer], call),
  );
};

describe.for(VIEWERS)('objects that a %s cannot see behave like objects that do not exist', (viewer) => {
  test.for(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'for %s',
    async ([name, { method, path }]) => {
      const calls = (names: Names) => REST_CALLS[name]?.(names) ?? [];
      await expectLikeNothing(viewer, name, calls, (who, call) =>
        who.rest(method, pathOf(path, call), call.parameters),
      );
    },
  );

  test.for(Object.entries(GRAPHQL_CALLS))('for %s', async ([name, calls]) => {
    await expectLikeNothing(viewer, name, calls, async (who, call) => {
      const { status, data, errors } = await who.graphql(documentOf(schema, call), call.args);
      return { status, body: { data, errors } };
    });
  });
});

test('and all of it is visible to users with access', async () => {
  const { owner } = scene;
  for (const path of [`/streams/${hidden.channelId}`, `/messages/${hidden.messageId}`]) {
    expect((await owner.rest('GET', path)).status, path).toBe(200);
  }
});

test('a hidden or nonexistent object is null in GraphQL, without an error and without effect on other fields', async () => {
  const lookups = (names: Pick<Names, 'channelId' | 'channelName' | 'messageId' | 'userId' | 'email' | 'groupId'>) => `{
    byId: channel(by: { id: "${globalId('Channel', names.channelId)}" }) { id }
    byName: channel(by: { name: "${names.channelName}" }) { id }
    message(by: { id: "${globalId('Message', names.messageId)}" }) { id }
    user(by: { id: "${globalId('User', names.userId)}" }) { id }
    byEmail: user(by: { email: "${names.email}" }) { id }
    userGroup(by: { id: "${globalId('UserGroup', names.groupId)}" }) { id }
    botApiKey(botId: "${globalId('User', names.userId)}")
    node(id: "${globalId('Channel', names.channelId)}") { id }
    viewer { fullName }
  }`;
  const { member, guest } = scene;
  const none = Object.fromEntries(
    ['byId', 'byName', 'message', 'user', 'byEmail', 'userGroup', 'botApiKey', 'node'].map((name) => [name, null]),
  );
  const nobody = { viewer: { fullName: member.name } };
  expect(await member.query(lookups(nothing()))).toEqual({ ...none, ...nobody });
  const { messageId, channelId, channelName } = hidden;
  expect(await member.query(lookups({ ...nothing(), messageId, channelId, channelName }))).toEqual({
    ...none,
    ...nobody,
  });
  // Guests can see some of the existing objects, but not all.
  const { userGroup, user } = await guest.query(lookups({ ...nothing(), ...scene.names }));
  expect([userGroup, user]).toEqual([null, { id: expect.any(String) }]);
  // A lookup without an id or name is an error.
  expect((await member.graphql('{ channel { id } viewer { fullName } }')).errors).toHaveLength(1);
});
