import { describe, expect, test } from 'vitest';
import { runCommand } from './helpers/control.ts';
import { globalId, numberOf } from './helpers/global-ids.ts';
import type { Json } from './helpers/http.ts';
import type { Method, Person } from './helpers/person.ts';
import { PNG } from './helpers/pictures.ts';
import { organisation, serverOf } from './helpers/server.ts';
import { type Act, expectDeclared, expectParity, type Twin } from './helpers/twins.ts';

// The same act over REST and over GraphQL: the same rows, events, code and message. One test for each endpoint.

const NOBODY = 2_000_000_000;
const note = { type: '', to: [], topic: '', content: 'note' };

/** A furnished organisation. */
async function furnish(twin: Twin) {
  const { people } = twin;
  const { owner, member } = people;
  const channel = async (person: Person, name: string, fields: object = {}) => {
    const { id } = await person.ok('POST', '/channels/create', { name, subscribers: [person.id], ...fields });
    return twin.name('channel', id, name);
  };
  const general = await channel(member, 'general');
  const hidden = await channel(member, 'hidden', { invite_only: true });
  const other = await channel(owner, 'other', { subscribers: [] });
  const folder = async (name: string) => {
    const { channel_folder_id } = await owner.ok('POST', '/channel_folders/create', { name, description: '' });
    return twin.name('folder', channel_folder_id, name);
  };
  const folders = [await folder('First'), await folder('Second')] as const;
  const group = async (name: string) => {
    const { group_id } = await owner.ok('POST', '/user_groups/create', { name, description: '', members: [] });
    return twin.name('group', group_id, name);
  };
  const userGroups = [await group('Sailors'), await group('Captains')] as const;
  const { ids } = await member.ok('POST', '/drafts', { drafts: [note, note] });
  const { saved_snippet_id } = await member.ok('POST', '/saved_snippets', { title: 'Hello', content: 'Hello!' });
  const { realm_can_manage_all_groups: owners } = await owner.register({ fetch_event_types: ['realm'] });
  return {
    ...people,
    ...{ general, hidden, other, folders, owners, userGroups },
    drafts: [twin.name('draft', ids[0], 'one'), twin.name('draft', ids[1], 'two')] as const,
    snippet: twin.name('snippet', saved_snippet_id, 'hello'),
  };
}

type World = Awaited<ReturnType<typeof furnish>>;
type Who = 'owner' | 'administrator' | 'moderator' | 'member' | 'guest' | 'bot';

/** One act of one endpoint and of one mutation. What is said of it may depend on the world it is done in. */
const bothDoors =
  (method: Method, path: string | ((world: World) => string), mutation: string) =>
  (who: Who, rest: (world: World) => object, graphql: (world: World) => object, code?: string): Act<World> => ({
    rest: (world) => {
      const address = typeof path === 'string' ? path : path(world);
      expectDeclared(method, address, mutation);
      return world[who].rest(method, address, rest(world) as Record<string, unknown>);
    },
    graphql: (world) => mutate(world[who], mutation, graphql(world)),
    ...(code !== undefined && { code }),
  });

/** The union's value, or the whole reply when the failure is not in the union. */
async function mutate(person: Person, name: string, input: object): Promise<Json> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}`;
  const query = `mutation ($input: ${type}Input!) { ${name}(input: $input) {
    __typename ... on ServiceError { code message } } }`;
  const reply = await person.graphql(query, { input });
  return reply.errors === undefined ? reply.data[name] : reply;
}

describe('users', () => {
  test.concurrent('POST /users and createUser', async () => {
    const ada = { email: 'ada@example.com', password: 'correct horse', fullName: 'Ada' };
    const create = bothDoors('POST', '/users', 'createUser');
    const act = (who: Who, input: object = {}, code?: string) => {
      const { fullName: full_name, ...rest } = { ...ada, ...input };
      return create(
        who,
        () => ({ ...rest, full_name }),
        () => ({ ...ada, ...input }),
        code,
      );
    };
    await expectParity(furnish, {
      'a new user': act('owner'),
      'a member': act('member', {}, 'UNAUTHORIZED_PRINCIPAL'),
      'an administrator without the right': act('administrator', {}, 'BAD_REQUEST'),
      'an address in use': act('owner', {}, 'BAD_REQUEST'),
      'a bad address': act('owner', { email: 'ada' }, 'BAD_REQUEST'),
      'a blank name': act('owner', { fullName: ' ' }, 'BAD_REQUEST'),
      'a null byte in the name': act('owner', { fullName: 'A\0da' }, 'BAD_REQUEST'),
      'a null byte in the address': act('owner', { email: 'a\0da@example.com' }, 'BAD_REQUEST'),
      'a null byte in the password': act('owner', { password: 'correct\0horse' }, 'BAD_REQUEST'),
      'a short password': act('owner', { email: 'b@example.com', password: 'short' }, 'BAD_REQUEST'),
    });
  });

  test.concurrent('PATCH /users/{user_id} and updateUser', async () => {
    const act = (who: Who, whom: Who, input: object, code?: string) => {
      const { fullName: full_name, role } = input as { fullName?: string; role?: string };
      const roles: Record<string, number> = { OWNER: 100, ADMINISTRATOR: 200, GUEST: 600 };
      return bothDoors('PATCH', (world) => `/users/${world[whom].id}`, 'updateUser')(
        who,
        () => ({ full_name, role: role === undefined ? undefined : roles[role] }),
        (world) => ({ userId: world[whom].id, ...input }),
        code,
      );
    };
    const unknown = bothDoors('PATCH', `/users/${NOBODY}`, 'updateUser');
    await expectParity(furnish, {
      'a new name': act('administrator', 'member', { fullName: ' Ann ' }),
      'the same name': act('administrator', 'member', { fullName: 'Ann' }),
      'another role, and a name': act('owner', 'moderator', { role: 'GUEST', fullName: 'Mo' }),
      'one more owner': act('owner', 'moderator', { role: 'OWNER' }),
      'and not any more': act('owner', 'moderator', { role: 'ADMINISTRATOR' }),
      'the only owner': act('owner', 'owner', { role: 'ADMINISTRATOR' }, 'BAD_REQUEST'),
      'an owner made by an administrator': act('administrator', 'member', { role: 'OWNER' }, 'UNAUTHORIZED_PRINCIPAL'),
      'by a member': act('member', 'guest', { fullName: 'Mine' }, 'UNAUTHORIZED_PRINCIPAL'),
      'a name with a star': act('owner', 'member', { fullName: 'A*nn' }, 'BAD_REQUEST'),
      'somebody who is not there': unknown(
        'owner',
        () => ({ full_name: 'x' }),
        () => ({ userId: NOBODY, fullName: 'x' }),
        'BAD_REQUEST',
      ),
    });
  });

  test.concurrent('DELETE /users/{user_id}, POST /users/{user_id}/reactivate, and their mutations', async () => {
    const away = (who: Who, whom: Who, code?: string) =>
      bothDoors('DELETE', (world) => `/users/${world[whom].id}`, 'deactivateUser')(
        who,
        () => ({ actions: { delete_profile: true }, deactivation_notification_comment: 'Farewell' }),
        (world) => ({ userId: world[whom].id, erase: { profile: true }, notificationComment: 'Farewell' }),
        code,
      );
    const back = (who: Who, whom: Who, code?: string) =>
      bothDoors('POST', (world) => `/users/${world[whom].id}/reactivate`, 'reactivateUser')(
        who,
        () => ({}),
        (world) => ({ userId: world[whom].id }),
        code,
      );
    await expectParity(furnish, {
      'by a member': away('member', 'guest', 'BAD_REQUEST'),
      'the only owner, by an administrator': away('administrator', 'owner', 'BAD_REQUEST'),
      'the only owner': away('owner', 'owner', 'BAD_REQUEST'),
      'a bot': away('owner', 'bot', 'BAD_REQUEST'),
      'a moderator': away('administrator', 'moderator'),
      'a moderator once more': away('administrator', 'moderator', 'BAD_REQUEST'),
      'back by a guest': back('guest', 'moderator', 'BAD_REQUEST'),
      back: back('administrator', 'moderator'),
      'back already': back('administrator', 'moderator'),
    });
  });

  test.concurrent('PATCH and DELETE /bots/{bot_id}, and their mutations', async () => {
    const change = (who: Who, input: { fullName?: string; ownerId?: Who; hears?: boolean }, code?: string) =>
      bothDoors('PATCH', ({ bot }) => `/bots/${bot.id}`, 'updateBot')(
        who,
        (world) => ({
          full_name: input.fullName,
          bot_owner_id: input.ownerId && world[input.ownerId].id,
          default_all_public_streams: input.hears,
          default_sending_stream: 'other',
        }),
        (world) => ({
          ...{ botId: world.bot.id, fullName: input.fullName, hearsAllPublicChannels: input.hears },
          ...(input.ownerId && { ownerId: world[input.ownerId].id }),
          defaultSendingChannelId: world.other,
        }),
        code,
      );
    const remove = (who: Who, code?: string) =>
      bothDoors('DELETE', ({ bot }) => `/bots/${bot.id}`, 'deactivateBot')(
        who,
        () => ({}),
        ({ bot }) => ({ botId: bot.id }),
        code,
      );
    await expectParity(furnish, {
      'its settings': change('owner', { fullName: 'Robot', hears: true }),
      'the same again': change('owner', { fullName: 'Robot', hears: true }),
      'another owner': change('owner', { ownerId: 'moderator' }),
      'a bot for an owner': change('owner', { ownerId: 'bot' }, 'BAD_REQUEST'),
      'by a member': change('member', { fullName: 'Mine' }, 'BAD_REQUEST'),
      'by a guest': change('guest', { fullName: 'Mine' }, 'UNAUTHORIZED_PRINCIPAL'),
      'away, by a member': remove('member', 'BAD_REQUEST'),
      away: remove('administrator'),
      'away already': remove('owner'),
    });
  });

  test.concurrent('addresses and passwords in PATCH /settings, PATCH /users/{user_id} and their mutations', async () => {
    const settings = bothDoors('PATCH', '/settings', 'updateSettings');
    const wanted = (who: Who, email: string, code?: string) => {
      const input = () => ({ email });
      return settings(who, input, input, code);
    };
    const give = (who: Who, newEmail: string, code?: string) =>
      bothDoors('PATCH', ({ moderator }) => `/users/${moderator.id}`, 'updateUser')(
        who,
        () => ({ new_email: newEmail }),
        ({ moderator }) => ({ userId: moderator.id, newEmail }),
        code,
      );
    const granted = async (twin: Twin) => {
      const { owner, realm } = twin.people;
      const right = { org: realm.subdomain, user: owner.email, right: 'can_change_user_emails' };
      await runCommand(serverOf().dataDir, 'user grant', right);
      return furnish(twin);
    };
    await expectParity(granted, {
      'an address of their own': wanted('guest', 'gia@new.example'),
      'no address': wanted('guest', 'gia', 'BAD_REQUEST'),
      'one for a bot': wanted('bot', 'bot@new.example', 'BAD_REQUEST'),
      'a wrong password': settings(
        'member',
        () => ({ old_password: 'wrong', new_password: 'a new password' }),
        () => ({ oldPassword: 'wrong', newPassword: 'a new password' }),
        'BAD_REQUEST',
      ),
      'one for somebody else': give('owner', 'mo@new.example'),
      'by somebody without the right': give('administrator', 'mo@newer.example', 'BAD_REQUEST'),
      'none for somebody else': give('owner', 'mo', 'BAD_REQUEST'),
    });
  });

  test.concurrent('POST /fetch_api_key and fetchApiKey', async () => {
    const login = (username: string, password: string, code?: string): Act<World> => ({
      rest: ({ anonymous }) => anonymous.rest('POST', '/fetch_api_key', { username, password }),
      async graphql({ anonymous }) {
        const query = `mutation ($input: FetchApiKeyInput!) { fetchApiKey(input: $input) {
          __typename ... on ServiceError { code message } } }`;
        const reply = await anonymous.graphql(query, { input: { username, password } });
        return reply.errors === undefined ? reply.data.fetchApiKey : reply;
      },
      ...(code !== undefined && { code }),
    });
    const account = { email: 'ada@example.com', password: 'correct horse' };
    const withAccount = async (twin: Twin) => {
      await twin.people.owner.ok('POST', '/users', { ...account, full_name: 'Ada' });
      return furnish(twin);
    };
    await expectParity(withAccount, {
      'the right password': login(account.email, account.password),
      'a wrong password': login(account.email, 'wrong', 'AUTHENTICATION_FAILED'),
      'an unknown address': login('nobody@example.com', account.password, 'AUTHENTICATION_FAILED'),
      'a null byte': login('a\0b', account.password, 'BAD_REQUEST'),
    });
  });
});

describe('drafts', () => {
  const toInput = ({ type, to, ...draft }: typeof note) => ({
    ...draft,
    ...(type === 'stream' && { channelId: to[0] }),
    ...(type === 'private' && { directTo: to }),
    type: { '': 'UNADDRESSED', stream: 'CHANNEL', private: 'DIRECT' }[type],
  });
  const INVALID: Readonly<Record<string, (world: World) => object>> = {
    'a blank one': () => ({ content: ' ' }),
    'a null byte': () => ({ content: 'a\0b' }),
    'a null byte in the topic': ({ general }) => ({ type: 'stream', to: [general], topic: 'a\0b' }),
    'a channel that is not there': () => ({ type: 'stream', to: [NOBODY] }),
    'a user who is not there': () => ({ type: 'private', to: [NOBODY] }),
  };

  test.concurrent('POST /drafts and createDrafts', async () => {
    const create = bothDoors('POST', '/drafts', 'createDrafts');
    const act = (drafts: (world: World) => object[], code?: string) =>
      create(
        'member',
        (world) => ({ drafts: drafts(world).map((draft) => ({ ...note, ...draft })) }),
        (world) => ({ drafts: drafts(world).map((draft) => toInput({ ...note, ...draft })) }),
        code,
      );
    const refused = Object.entries(INVALID).map(
      ([name, draft]) => [name, act((world) => [{}, draft(world)], 'BAD_REQUEST')] as const,
    );
    await expectParity(furnish, {
      'one of each kind': act(({ general, guest }) => [
        { type: 'stream', to: [general], topic: 'greetings' },
        { type: 'private', to: [guest.id], topic: 'dropped' },
        { to: [1], topic: 'dropped' },
      ]),
      none: act(() => []),
      ...Object.fromEntries(refused),
    });
  });

  test.concurrent('PATCH /drafts/{draft_id} and updateDraft', async () => {
    const act = (change: (world: World) => object, code?: string, id = ({ drafts }: World) => drafts[0]) =>
      bothDoors('PATCH', (world) => `/drafts/${id(world)}`, 'updateDraft')(
        'member',
        (world) => ({ draft: { ...note, ...change(world) } }),
        (world) => ({ draftId: id(world), draft: toInput({ ...note, ...change(world) }) }),
        code,
      );
    const refused = Object.entries(INVALID).filter(([name]) => !name.startsWith('a blank'));
    await expectParity(furnish, {
      'another one': act(({ general }) => ({ type: 'stream', to: [general], topic: 'new', content: 'changed' })),
      'one that is not there': act(
        () => ({}),
        'BAD_REQUEST',
        () => NOBODY,
      ),
      ...Object.fromEntries(refused.map(([name, change]) => [name, act(change, 'BAD_REQUEST')])),
    });
  });

  test.concurrent('DELETE /drafts/{draft_id} and deleteDraft', async () => {
    const act = (who: Who, id: (world: World) => number, code?: string) =>
      bothDoors('DELETE', (world) => `/drafts/${id(world)}`, 'deleteDraft')(
        who,
        () => ({}),
        (world) => ({ draftId: id(world) }),
        code,
      );
    await expectParity(furnish, {
      one: act('member', ({ drafts }) => drafts[0]),
      'the same again': act('member', ({ drafts }) => drafts[0], 'BAD_REQUEST'),
      "another's": act('owner', ({ drafts }) => drafts[1], 'BAD_REQUEST'),
      'one that is not there': act('member', () => NOBODY, 'BAD_REQUEST'),
    });
  });
});

describe('pictures', () => {
  test.concurrent('POST and DELETE /users/me/avatar, and setAvatar', async () => {
    const act = (method: Method, image: Uint8Array | null, code?: string) =>
      bothDoors(method, '/users/me/avatar', 'setAvatar')(
        'member',
        () => (image === null ? {} : { file: image }),
        () => ({ image }),
        code,
      );
    await expectParity(furnish, {
      uploaded: act('POST', PNG),
      'what is no picture': act('POST', Buffer.from('text'), 'BAD_IMAGE'),
      'too large': act('POST', Buffer.alloc(5 * 1024 * 1024 + 1), 'BAD_REQUEST'),
      'taken away': act('DELETE', null),
    });
  });

  const add = (who: Who, name: string, code?: string) =>
    bothDoors('POST', `/realm/emoji/${name}`, 'addCustomEmoji')(
      who,
      () => ({ file: PNG }),
      () => ({ name, image: PNG }),
      code,
    );

  test.concurrent('POST /realm/emoji/{emoji_name} and addCustomEmoji', async () => {
    await expectParity(furnish, {
      one: add('member', 'steamer'),
      'the same again': add('owner', 'steamer', 'BAD_REQUEST'),
      'a built-in one': add('member', 'tada', 'BAD_REQUEST'),
      'a built-in one by an administrator': add('administrator', 'tada'),
      "a guest's": add('guest', 'yawl', 'UNAUTHORIZED_PRINCIPAL'),
    });
  });

  test.concurrent('DELETE /realm/emoji/{emoji_name} and deactivateCustomEmoji', async () => {
    const act = (who: Who, code?: string) =>
      bothDoors('DELETE', '/realm/emoji/steamer', 'deactivateCustomEmoji')(
        who,
        () => ({}),
        () => ({ name: 'steamer' }),
        code,
      );
    await expectParity(furnish, {
      added: add('member', 'steamer'),
      "somebody else's": act('moderator', 'BAD_REQUEST'),
      one: act('member'),
      'the same again': act('owner', 'BAD_REQUEST'),
    });
  });
});

describe('saved snippets', () => {
  const INVALID: Readonly<Record<string, object>> = {
    'a blank title': { title: ' ' },
    'a long title': { title: 't'.repeat(61) },
    'blank content': { content: '\n' },
    'a null byte': { content: 'a\0b' },
  };
  const refused = (act: (fields: object, code?: string) => Act<World>) =>
    Object.fromEntries(Object.entries(INVALID).map(([name, fields]) => [name, act(fields, 'BAD_REQUEST')]));

  test.concurrent('POST /saved_snippets and createSavedSnippet', async () => {
    const act = (fields: object, code?: string) => {
      const input = () => ({ title: ' Bye ', content: 'Bye!', ...fields });
      return bothDoors('POST', '/saved_snippets', 'createSavedSnippet')('guest', input, input, code);
    };
    await expectParity(furnish, { one: act({}), ...refused(act) });
  });

  test.concurrent('PATCH /saved_snippets/{saved_snippet_id} and updateSavedSnippet', async () => {
    const act = (fields: object, code?: string, who: Who = 'member', id = ({ snippet }: World) => snippet) =>
      bothDoors('PATCH', (world) => `/saved_snippets/${id(world)}`, 'updateSavedSnippet')(
        who,
        () => fields,
        (world) => ({ savedSnippetId: id(world), ...fields }),
        code,
      );
    await expectParity(furnish, {
      'another title': act({ title: 'Hi' }),
      'other content': act({ content: 'Hi!' }),
      nothing: act({}),
      "another's": act({ title: 'mine' }, 'BAD_REQUEST', 'owner'),
      'one that is not there': act({}, 'BAD_REQUEST', 'member', () => NOBODY),
      ...refused(act),
    });
  });

  test.concurrent('DELETE /saved_snippets/{saved_snippet_id} and deleteSavedSnippet', async () => {
    const act = (who: Who, code?: string) =>
      bothDoors('DELETE', ({ snippet }) => `/saved_snippets/${snippet}`, 'deleteSavedSnippet')(
        who,
        () => ({}),
        ({ snippet }) => ({ savedSnippetId: snippet }),
        code,
      );
    await expectParity(furnish, {
      "another's": act('owner', 'BAD_REQUEST'),
      one: act('member'),
      'the same again': act('member', 'BAD_REQUEST'),
    });
  });
});

describe('topics', () => {
  test.concurrent('POST /user_topics and setTopicVisibility', async () => {
    const NAMES = ['INHERIT', 'MUTED', 'UNMUTED', 'FOLLOWED'];
    const act = (who: Who, topic: string, policy: number, code?: string, id = ({ general }: World) => general) =>
      bothDoors('POST', '/user_topics', 'setTopicVisibility')(
        who,
        (world) => ({ stream_id: id(world), topic, visibility_policy: policy }),
        (world) => ({ channelId: id(world), topic, visibility: NAMES[policy] }),
        code,
      );
    await expectParity(furnish, {
      'a topic that is followed': act('member', 'Lunch', 3),
      'the same again': act('member', 'lunch', 3),
      'the empty topic, muted': act('member', 'general chat', 1),
      'one with a null byte': act('member', 'a\0b', 1, 'BAD_REQUEST'),
      'one with a long name': act('member', 't'.repeat(61), 1, 'BAD_REQUEST'),
      'one of a channel that is not there': act('member', 'lunch', 0, 'BAD_REQUEST', () => NOBODY),
      'one of a channel that is not theirs': act('owner', 'lunch', 2, 'BAD_REQUEST', ({ hidden }) => hidden),
      'one taken back': act('member', 'LUNCH', 0),
      'one that was never set': act('member', 'LUNCH', 0),
    });
  });

  test.concurrent('PATCH /users/me/subscriptions/muted_topics and setTopicVisibility', async () => {
    const act = (who: Who, topic: string, op: 'add' | 'remove', code?: string) =>
      bothDoors('PATCH', '/users/me/subscriptions/muted_topics', 'setTopicVisibility')(
        who,
        ({ general }) => ({ stream_id: general, topic, op }),
        ({ general }) => ({ channelId: general, topic, visibility: op === 'add' ? 'MUTED' : 'INHERIT' }),
        code,
      );
    await expectParity(furnish, {
      'a topic that is muted': act('member', 'Lunch', 'add'),
      'the same again': act('member', 'lunch', 'add'),
      'the empty topic': act('member', '', 'add'),
      'one with a long name': act('member', 't'.repeat(61), 'add', 'BAD_REQUEST'),
      'one unmuted': act('member', 'LUNCH', 'remove'),
      'one that was never muted': act('member', 'dinner', 'remove'),
    });
  });

  test.concurrent('POST /streams/{stream_id}/delete_topic and deleteTopic', async () => {
    const act = (who: Who, topic: string, code?: string, id = ({ general }: World) => general) =>
      bothDoors('POST', (world) => `/streams/${id(world)}/delete_topic`, 'deleteTopic')(
        who,
        () => ({ topic_name: topic }),
        (world) => ({ channelId: id(world), topic }),
        code,
      );
    const follow = (world: World) =>
      world.member.rest('POST', '/user_topics', { stream_id: world.general, topic: 'lunch', visibility_policy: 3 });
    await expectParity(furnish, {
      'one that is followed': { rest: follow, graphql: follow },
      'by a moderator': act('moderator', 'lunch', 'UNAUTHORIZED_PRINCIPAL'),
      'of a channel that is not theirs': act('owner', 'lunch', 'BAD_REQUEST', ({ hidden }) => hidden),
      'with a long name': act('owner', 't'.repeat(61), 'BAD_REQUEST'),
      'by an owner': act('owner', 'LUNCH'),
    });
  });
});

describe('channel folders', () => {
  const INVALID: Readonly<Record<string, object>> = {
    'a blank name': { name: ' ' },
    'a long name': { name: 'n'.repeat(61) },
    'a name that cannot be printed': { name: 'a\tb' },
    'a name in use': { name: 'FIRST' },
    'a long description': { description: 'd'.repeat(1025) },
    'a null byte': { description: 'a\0b' },
    'a null byte in the name': { name: 'a\0b' },
  };
  const refused = (act: (who: Who, fields: object, code?: string) => Act<World>) =>
    Object.fromEntries(Object.entries(INVALID).map(([name, fields]) => [name, act('owner', fields, 'BAD_REQUEST')]));

  test.concurrent('POST /channel_folders/create and createChannelFolder', async () => {
    const act = (who: Who, fields: object, code?: string) => {
      const input = () => ({ name: ' Third ', description: 'The *third*', ...fields });
      return bothDoors('POST', '/channel_folders/create', 'createChannelFolder')(who, input, input, code);
    };
    const byMember = act('member', {}, 'UNAUTHORIZED_PRINCIPAL');
    await expectParity(furnish, { one: act('administrator', {}), 'by a member': byMember, ...refused(act) });
  });

  test.concurrent('PATCH /channel_folders/{channel_folder_id} and updateChannelFolder', async () => {
    const act = (who: Who, fields: object, code?: string, id = ({ folders }: World) => folders[1]) => {
      const { is_archived, ...texts } = fields as { is_archived?: boolean };
      return bothDoors('PATCH', (world) => `/channel_folders/${id(world)}`, 'updateChannelFolder')(
        who,
        () => fields,
        (world) => ({ channelFolderId: id(world), ...texts, isArchived: is_archived }),
        code,
      );
    };
    await expectParity(furnish, {
      'name and description': act('administrator', { name: '2nd', description: 'The **second**' }),
      archived: act('owner', { is_archived: true }),
      'back again': act('owner', { is_archived: false }),
      nothing: act('owner', {}),
      'by a moderator': act('moderator', { name: 'mine' }, 'UNAUTHORIZED_PRINCIPAL'),
      'one that is not there': act('owner', { name: 'x' }, 'BAD_REQUEST', () => NOBODY),
      ...refused(act),
    });
  });

  test.concurrent('PATCH /channel_folders and reorderChannelFolders', async () => {
    const act = (who: Who, order: (folders: readonly number[]) => number[], code?: string) => {
      const input = ({ folders }: World) => ({ order: order(folders) });
      return bothDoors('PATCH', '/channel_folders', 'reorderChannelFolders')(who, input, input, code);
    };
    await expectParity(furnish, {
      'the other way round': act('administrator', (ids) => ids.toReversed()),
      'one is missing': act('owner', (ids) => ids.slice(1), 'BAD_REQUEST'),
      'one twice': act('owner', (ids) => [...ids, ...ids.slice(1)], 'BAD_REQUEST'),
      'by a guest': act('guest', (ids) => [...ids], 'UNAUTHORIZED_PRINCIPAL'),
    });
  });
});

describe('user groups', () => {
  test.concurrent('POST /user_groups/create and createUserGroup', async () => {
    const act = (who: Who, fields: (world: World) => object, code?: string) =>
      bothDoors('POST', '/user_groups/create', 'createUserGroup')(
        who,
        (world) => ({ name: ' Third ', description: 'x', members: [], ...fields(world) }),
        (world) => {
          const {
            members: memberIds = [],
            subgroups: subgroupIds,
            ...texts
          } = fields(world) as Record<string, unknown>;
          return { name: ' Third ', description: 'x', memberIds, subgroupIds, ...texts };
        },
        code,
      );
    await expectParity(furnish, {
      'one with people and groups': act('owner', ({ owner, userGroups }) => ({
        members: [owner.id],
        subgroups: [userGroups[0]],
      })),
      'a name in use': act('owner', () => ({ name: 'SAILORS' }), 'BAD_REQUEST'),
      'a blank name': act('owner', () => ({ name: ' ' }), 'BAD_REQUEST'),
      'a user who is not there': act('owner', () => ({ members: [NOBODY] }), 'BAD_REQUEST'),
      'by a guest': act('guest', () => ({}), 'UNAUTHORIZED_PRINCIPAL'),
    });
  });

  test.concurrent('PATCH /user_groups/{id}, POST /user_groups/{id}/deactivate and their mutations', async () => {
    const act = (who: Who, fields: object, code?: string, id = ({ userGroups }: World) => userGroups[0]) => {
      const { deactivated, ...texts } = fields as { deactivated?: boolean };
      return bothDoors('PATCH', (world) => `/user_groups/${id(world)}`, 'updateUserGroup')(
        who,
        () => fields,
        (world) => ({ userGroupId: id(world), ...texts, isDeactivated: deactivated }),
        code,
      );
    };
    const deactivate = (who: Who, code?: string) =>
      bothDoors('POST', ({ userGroups }) => `/user_groups/${userGroups[0]}/deactivate`, 'deactivateUserGroup')(
        who,
        () => ({}),
        ({ userGroups }) => ({ userGroupId: userGroups[0] }),
        code,
      );
    const joined = (rest: (world: World) => object, graphql: (world: World) => object, code?: string): Act<World> =>
      bothDoors('PATCH', ({ userGroups }) => `/user_groups/${userGroups[0]}`, 'updateUserGroup')(
        'owner',
        (world) => ({ can_join_group: rest(world) }),
        (world) => ({ userGroupId: world.userGroups[0], permissions: { canJoin: graphql(world) } }),
        code,
      );
    await expectParity(furnish, {
      'name and description': act('owner', { name: 'Crew', description: 'Who sails' }),
      'a permission': joined(
        ({ userGroups }) => ({ new: userGroups[1] }),
        ({ userGroups }) => ({ new: { groupId: userGroups[1] } }),
      ),
      'one that is another': joined(
        ({ userGroups }) => ({ new: userGroups[1], old: userGroups[0] }),
        ({ userGroups }) => ({ new: { groupId: userGroups[1] }, old: { groupId: userGroups[0] } }),
        'EXPECTATION_MISMATCH',
      ),
      nothing: act('owner', {}, 'BAD_REQUEST'),
      'a name in use': act('owner', { name: 'captains' }, 'BAD_REQUEST'),
      'by a member': act('member', { name: 'x' }, 'BAD_REQUEST'),
      'one that is not there': act('owner', { name: 'x' }, 'BAD_REQUEST', () => NOBODY),
      'deactivated by a guest': deactivate('guest', 'UNAUTHORIZED_PRINCIPAL'),
      deactivated: deactivate('owner'),
      'deactivated again': deactivate('owner', 'BAD_REQUEST'),
      'brought back': act('owner', { deactivated: false }),
    });
  });

  test.concurrent('POST /user_groups/{id}/members, /subgroups and their mutations', async () => {
    const change = (who: Who, fields: (world: World) => object, code?: string) =>
      bothDoors('POST', ({ userGroups }) => `/user_groups/${userGroups[0]}/members`, 'updateUserGroupMembers')(
        who,
        (world) => {
          const { addSubgroups, deleteSubgroups, ...users } = fields(world) as Record<string, unknown>;
          return { ...users, add_subgroups: addSubgroups, delete_subgroups: deleteSubgroups };
        },
        (world) => ({ userGroupId: world.userGroups[0], ...fields(world) }),
        code,
      );
    const nest = (who: Who, fields: (world: World) => object, code?: string) =>
      bothDoors('POST', ({ userGroups }) => `/user_groups/${userGroups[0]}/subgroups`, 'updateUserGroupSubgroups')(
        who,
        fields,
        (world) => ({ userGroupId: world.userGroups[0], ...fields(world) }),
        code,
      );
    await expectParity(furnish, {
      'users and groups come': change('owner', ({ owner, userGroups }) => ({
        add: [owner.id],
        addSubgroups: [userGroups[1]],
      })),
      'one comes again': change('owner', ({ owner }) => ({ add: [owner.id] }), 'BAD_REQUEST'),
      'a circle': nest('owner', ({ userGroups }) => ({ add: [userGroups[0]] }), 'BAD_REQUEST'),
      'nothing given': nest('owner', () => ({}), 'BAD_REQUEST'),
      'by a member': nest('member', ({ owners }) => ({ add: [owners] }), 'BAD_REQUEST'),
      'by a guest': nest('guest', ({ owners }) => ({ add: [owners] }), 'UNAUTHORIZED_PRINCIPAL'),
      'groups come and go': nest('owner', ({ owners, userGroups }) => ({ add: [owners], delete: [userGroups[1]] })),
      'all go': change('owner', ({ owner, owners }) => ({ delete: [owner.id], deleteSubgroups: [owners] })),
    });
  });
});

describe('channels', () => {
  test.concurrent('POST /channels/create and createChannel', async () => {
    type Make = (
      who: Who,
      rest: (world: World) => object,
      graphql: (world: World) => object,
      code?: string,
    ) => Act<World>;
    const create = bothDoors('POST', '/channels/create', 'createChannel');
    const act: Make = (who, rest, graphql, code) =>
      create(
        who,
        (world) => ({ name: 'new', subscribers: [world.member.id, world.guest.id], ...rest(world) }),
        (world) => ({ name: 'new', subscriberIds: [world.member.id, world.guest.id], ...graphql(world) }),
        code,
      );
    const same = (who: Who, fields: (world: World) => object, code?: string) => act(who, fields, fields, code);
    await expectParity(furnish, {
      'a public one': same('member', () => ({ name: ' public ', description: 'For\n*all*' })),
      'a private one with shared history': act(
        'member',
        () => ({ name: 'private', invite_only: true, history_public_to_subscribers: true }),
        () => ({ name: 'private', isPrivate: true, historyPublicToSubscribers: true }),
      ),
      'one with all there is': act(
        'owner',
        ({ folders, owners, guest, member }) => ({
          ...{ name: 'full', folder_id: folders[0], is_default_stream: true, topics_policy: 'disable_empty_topic' },
          ...{ message_retention_days: 7, can_send_message_group: owners },
          can_remove_subscribers_group: { direct_members: [guest.id, member.id], direct_subgroups: [owners] },
        }),
        ({ folders, owners, guest, member }) => ({
          ...{ name: 'full', folderId: folders[0], isDefault: true, topicsPolicy: 'DISABLE_EMPTY_TOPIC' },
          messageRetentionDays: 7,
          permissions: {
            canSendMessage: { groupId: owners },
            canRemoveSubscribers: { directMemberIds: [guest.id, member.id], directSubgroupIds: [owners] },
          },
        }),
      ),
      'a name in use': same('owner', () => ({ name: 'GENERAL' }), 'CHANNEL_ALREADY_EXISTS'),
      'a blank name': same('owner', () => ({ name: ' ' }), 'BAD_REQUEST'),
      'a null byte': same('owner', () => ({ description: 'a\0b' }), 'BAD_REQUEST'),
      'a null byte in the name': same('owner', () => ({ name: 'a\0b' }), 'BAD_REQUEST'),
      'by a guest': same('guest', () => ({}), 'UNAUTHORIZED_PRINCIPAL'),
      'a subscriber who is not there': act(
        'owner',
        () => ({ subscribers: [NOBODY] }),
        () => ({ subscriberIds: [NOBODY] }),
        'BAD_REQUEST',
      ),
      'a folder that is not there': act(
        'owner',
        () => ({ folder_id: NOBODY }),
        () => ({ folderId: NOBODY }),
        'BAD_REQUEST',
      ),
      'a default one by a member': act(
        'member',
        () => ({ is_default_stream: true }),
        () => ({ isDefault: true }),
        'BAD_REQUEST',
      ),
      'a retention by an administrator': act(
        'administrator',
        () => ({ message_retention_days: 7 }),
        () => ({ messageRetentionDays: 7 }),
        'UNAUTHORIZED_PRINCIPAL',
      ),
      'a web-public one': act(
        'owner',
        () => ({ is_web_public: true }),
        () => ({ isWebPublic: true }),
        'BAD_REQUEST',
      ),
      'a group that is not there': act(
        'owner',
        () => ({ can_send_message_group: NOBODY }),
        () => ({ permissions: { canSendMessage: { groupId: NOBODY } } }),
        'BAD_REQUEST',
      ),
    });
  });

  test.concurrent('PATCH /streams/{stream_id} and updateChannel', async () => {
    const act = (
      who: Who,
      rest: (world: World) => object,
      graphql: (world: World) => object,
      code?: string,
      id = ({ general }: World) => general,
    ) =>
      bothDoors('PATCH', (world) => `/streams/${id(world)}`, 'updateChannel')(
        who,
        rest,
        (world) => ({ channelId: id(world), ...graphql(world) }),
        code,
      );
    const renamed = (who: Who, name: string, code?: string, id = ({ general }: World) => general) =>
      act(
        who,
        () => ({ new_name: name }),
        () => ({ name }),
        code,
        id,
      );
    const who = ({ owner, guest }: World) => [owner.id, guest.id];
    await expectParity(furnish, {
      'another name': renamed('administrator', 'renamed'),
      'description, folder and policy': act(
        'member',
        ({ folders }) => ({ description: '*All*', folder_id: folders[0], topics_policy: 'allow_empty_topic' }),
        ({ folders }) => ({ description: '*All*', folderId: folders[0], topicsPolicy: 'ALLOW_EMPTY_TOPIC' }),
      ),
      'no folder': act(
        'member',
        () => ({ folder_id: null }),
        () => ({ folderId: null }),
      ),
      private: act(
        'member',
        () => ({ is_private: true }),
        () => ({ isPrivate: true }),
      ),
      'shared history': act(
        'member',
        () => ({ history_public_to_subscribers: true }),
        () => ({ historyPublicToSubscribers: true }),
      ),
      'public again': act(
        'member',
        () => ({ is_private: false }),
        () => ({ isPrivate: false }),
      ),
      'a default one': act(
        'administrator',
        () => ({ is_default_stream: true }),
        () => ({ isDefault: true }),
      ),
      'a retention': act(
        'owner',
        () => ({ message_retention_days: 9 }),
        () => ({ messageRetentionDays: 9 }),
      ),
      'no retention of its own': act(
        'owner',
        () => ({ message_retention_days: '"realm_default"' }),
        () => ({ messageRetentionDays: null }),
      ),
      'permissions, as expected': act(
        'member',
        (world) => ({
          can_send_message_group: { new: world.owners },
          can_subscribe_group: { new: { direct_members: who(world), direct_subgroups: [] } },
          can_administer_channel_group: {
            new: { direct_members: [world.member.id, world.moderator.id], direct_subgroups: [] },
            old: { direct_members: [world.member.id], direct_subgroups: [] },
          },
        }),
        (world) => ({
          permissions: {
            canSendMessage: { new: { groupId: world.owners } },
            canSubscribe: { new: { directMemberIds: who(world) } },
            canAdministerChannel: {
              new: { directMemberIds: [world.member.id, world.moderator.id] },
              old: { directMemberIds: [world.member.id] },
            },
          },
        }),
      ),
      'a permission that is not as expected': act(
        'owner',
        ({ owners }) => ({ can_resolve_topics_group: { new: owners, old: owners } }),
        ({ owners }) => ({ permissions: { canResolveTopics: { new: { groupId: owners }, old: { groupId: owners } } } }),
        'EXPECTATION_MISMATCH',
      ),
      'the name it has': renamed('owner', 'renamed', 'BAD_REQUEST'),
      'a name in use': renamed('owner', 'OTHER', 'BAD_REQUEST'),
      'a null byte in the name': renamed('owner', 'a\0b', 'BAD_REQUEST'),
      'by a guest': renamed('guest', 'mine', 'BAD_REQUEST'),
      'what one does not administer': renamed('member', 'mine', 'BAD_REQUEST', ({ other }) => other),
      'what one does not see': renamed('moderator', 'mine', 'BAD_REQUEST', ({ hidden }) => hidden),
      'what is not there': renamed('owner', 'mine', 'BAD_REQUEST', () => NOBODY),
      'a retention by a member': act(
        'member',
        () => ({ message_retention_days: 9 }),
        () => ({ messageRetentionDays: 9 }),
        'UNAUTHORIZED_PRINCIPAL',
      ),
      'public with protected history': act(
        'owner',
        () => ({ history_public_to_subscribers: false }),
        () => ({ historyPublicToSubscribers: false }),
        'BAD_REQUEST',
      ),
    });
  });

  test.concurrent('DELETE /streams/{stream_id} and archiveChannel; is_archived and unarchiveChannel', async () => {
    const id = ({ general }: World) => general;
    const act =
      (back: boolean) =>
      (who: Who, code?: string, channel: (world: World) => number = id) =>
        bothDoors(
          back ? 'PATCH' : 'DELETE',
          (world) => `/streams/${channel(world)}`,
          back ? 'unarchiveChannel' : 'archiveChannel',
        )(
          who,
          () => (back ? { is_archived: false } : {}),
          (world) => ({ channelId: channel(world) }),
          code,
        );
    const [archive, unarchive] = [act(false), act(true)];
    await expectParity(furnish, {
      'by a guest': archive('guest', 'BAD_REQUEST'),
      'not archived': unarchive('owner', 'BAD_REQUEST'),
      archived: archive('member'),
      'archived again': archive('owner', 'BAD_REQUEST'),
      'back again': unarchive('administrator'),
      'what one does not see': archive('moderator', 'BAD_REQUEST', ({ hidden }) => hidden),
      'what is not there': unarchive('owner', 'BAD_REQUEST', () => NOBODY),
    });
  });

  test.concurrent('POST and DELETE /default_streams and updateChannel', async () => {
    const act = (on: boolean, who: Who, code?: string, id = ({ general }: World) => general) =>
      bothDoors(on ? 'POST' : 'DELETE', '/default_streams', 'updateChannel')(
        who,
        (world) => ({ stream_id: id(world) }),
        (world) => ({ channelId: id(world), isDefault: on }),
        code,
      );
    await expectParity(furnish, {
      on: act(true, 'administrator'),
      'on already': act(true, 'owner'),
      off: act(false, 'owner'),
      'a private one': act(true, 'owner', 'BAD_REQUEST', ({ hidden }) => hidden),
      'what is not there': act(true, 'owner', 'BAD_REQUEST', () => NOBODY),
    });
  });
});

describe('subscriptions', () => {
  test.concurrent('POST /users/me/subscriptions and subscribe', async () => {
    const act = (
      who: Who,
      channels: object[],
      whom: readonly Who[] = [],
      code?: string,
      more: [object, object] = [{}, {}],
    ) =>
      bothDoors('POST', '/users/me/subscriptions', 'subscribe')(
        who,
        (world) => ({ subscriptions: channels, principals: whom.map((one) => world[one].id), ...more[0] }),
        (world) => ({ channels, userIds: whom.map((one) => world[one].id), ...more[1] }),
        code,
      );
    await expectParity(furnish, {
      'to a channel': act('owner', [{ name: 'general', color: '#ABC' }]),
      'once more': act('owner', [{ name: 'general' }]),
      'to two, others': act('member', [{ name: 'general' }, { name: 'hidden' }], ['guest', 'moderator', 'bot']),
      'to a new one': act('moderator', [{ name: 'new', description: 'A *new* one' }], ['member', 'guest']),
      'to a new private one': act('member', [{ name: 'secret' }], [], undefined, [
        { invite_only: true },
        { newChannels: { isPrivate: true } },
      ]),
      'to a private one': act('owner', [{ name: 'hidden' }], [], 'BAD_REQUEST'),
      'to a private one, if possible': act('owner', [{ name: 'hidden' }, { name: 'other' }], [], undefined, [
        { authorization_errors_fatal: false },
        { skipUnauthorized: true },
      ]),
      'a guest to a public one': act('guest', [{ name: 'other' }], [], 'UNAUTHORIZED_PRINCIPAL'),
      'a guest to a new one': act('guest', [{ name: 'newer' }], [], 'UNAUTHORIZED_PRINCIPAL'),
      'others by a guest': act('guest', [{ name: 'general' }], ['owner'], 'BAD_REQUEST'),
      'a blank name': act('owner', [{ name: ' ' }], [], 'BAD_REQUEST'),
      'a null byte': act('owner', [{ name: 'a\0b' }], [], 'BAD_REQUEST'),
      'a bad colour': act('owner', [{ name: 'general', color: 'red' }], [], 'BAD_REQUEST'),
      'somebody who is not there': act('owner', [{ name: 'general' }], [], 'BAD_REQUEST', [
        { principals: [NOBODY] },
        { userIds: [NOBODY] },
      ]),
    });
  });

  test.concurrent('DELETE /users/me/subscriptions and unsubscribe', async () => {
    const act = (who: Who, names: string[], whom: readonly Who[] = [], code?: string) =>
      bothDoors('DELETE', '/users/me/subscriptions', 'unsubscribe')(
        who,
        (world) => ({ subscriptions: names, principals: whom.map((one) => world[one].id) }),
        (world) => ({ channels: names.map((name) => ({ name })), userIds: whom.map((one) => world[one].id) }),
        code,
      );
    await expectParity(furnish, {
      'from where one is and is not': act('member', ['General', 'other']),
      'others by a moderator': act('moderator', ['general'], ['member'], 'BAD_REQUEST'),
      'others by an administrator': act('administrator', ['hidden', 'general'], ['member', 'guest']),
      'from what one does not see': act('moderator', ['hidden'], [], 'BAD_REQUEST'),
      'from what is not there': act('owner', ['general', 'nothing'], [], 'BAD_REQUEST'),
    });
  });

  const SETTINGS = {
    ...{ color: 'color', is_muted: 'isMuted', pin_to_top: 'pinToTop', push_notifications: 'pushNotifications' },
    ...{ desktop_notifications: 'desktopNotifications', audible_notifications: 'audibleNotifications' },
    ...{ email_notifications: 'emailNotifications', wildcard_mentions_notify: 'wildcardMentionsNotify' },
  };

  const settings = (one: boolean) => {
    const act = (
      who: Who,
      property: keyof typeof SETTINGS,
      value: unknown,
      code?: string,
      id = ({ general }: World) => general,
    ) =>
      bothDoors(
        'POST',
        (world) => `/users/me/subscriptions/${one ? id(world) : 'properties'}`,
        'updateSubscriptionSettings',
      )(
        who,
        (world) =>
          one
            ? { property, value: JSON.stringify(value) }
            : { subscription_data: [{ stream_id: id(world), property, value }] },
        (world) => ({ subscriptions: [{ channelId: id(world), [SETTINGS[property]]: value }] }),
        code,
      );
    const all = Object.keys(SETTINGS).filter((name) => name !== 'color') as (keyof typeof SETTINGS)[];
    return {
      ...Object.fromEntries(all.map((property) => [property, act('member', property, true)])),
      'a colour': act('member', 'color', '#F0a'),
      'as it is': act('member', 'is_muted', true),
      'a bad colour': act('member', 'color', 'red', 'BAD_REQUEST'),
      'where one is not': act('owner', 'is_muted', true, 'BAD_REQUEST'),
      'what one does not see': act('moderator', 'is_muted', true, 'BAD_REQUEST', ({ hidden }) => hidden),
      'what is not there': act('member', 'is_muted', true, 'BAD_REQUEST', () => NOBODY),
    };
  };

  test.concurrent('POST /users/me/subscriptions/properties and updateSubscriptionSettings', async () => {
    await expectParity(furnish, settings(false));
  });

  test.concurrent('POST /users/me/subscriptions/{stream_id} and updateSubscriptionSettings', async () => {
    await expectParity(furnish, settings(true));
  });
});

describe('profiles', () => {
  const label = (name: string, value: string) => ({
    rest: { field_type: 1, name, hint: value },
    graphql: { type: 'SHORT_TEXT', name, hint: value },
  });

  async function withFields(twin: Twin) {
    const { people } = twin;
    const make = async (name: string, field: object) =>
      twin.name('field', (await people.owner.ok('POST', '/realm/profile_fields', { name, ...field })).id, name);
    return {
      ...people,
      ship: await make('Ship', { field_type: 1 }),
      flag: await make('Flag', { field_type: 3, field_data: { r: { text: 'Red', order: '1' } } }),
      mates: await make('Mates', { field_type: 6, editable_by_user: false }),
    };
  }
  type Fields = Awaited<ReturnType<typeof withFields>>;

  const act = (
    who: Who,
    method: Method,
    path: (fields: Fields) => string,
    mutation: string,
    parameters: (fields: Fields) => object,
    input: (fields: Fields) => object,
    code?: string,
  ): Act<Fields> => ({
    rest: (fields) => fields[who].rest(method, path(fields), parameters(fields) as Record<string, unknown>),
    graphql: (fields) => mutate(fields[who], mutation, input(fields)),
    ...(code !== undefined && { code }),
  });

  test.concurrent('POST /realm/profile_fields and createCustomProfileField', async () => {
    const create = (who: Who, parameters: object, input: object, code?: string) =>
      act(
        who,
        'POST',
        () => '/realm/profile_fields',
        'createCustomProfileField',
        () => parameters,
        () => input,
        code,
      );
    const text = label('About', 'you');
    const accountOf = (url_pattern: string) => ({ field_data: { subtype: 'custom', url_pattern } });
    const account = (name: string, pattern: string, code?: string) =>
      create(
        'owner',
        { field_type: 7, name, ...accountOf(pattern) },
        { type: 'EXTERNAL_ACCOUNT', name, urlPattern: pattern },
        code,
      );
    await expectParity(withFields, {
      'a member': create('member', text.rest, text.graphql, 'UNAUTHORIZED_PRINCIPAL'),
      'a text': create('owner', text.rest, text.graphql),
      'the label again': create('owner', text.rest, text.graphql, 'BAD_REQUEST'),
      'a list of options': create(
        'administrator',
        {
          field_type: 3,
          name: 'Wind',
          field_data: { n: { text: 'North', order: '1' }, s: { text: 'South', order: '2' } },
        },
        {
          type: 'DROPDOWN',
          name: 'Wind',
          choices: [
            { key: 'n', text: 'North' },
            { key: 's', text: 'South' },
          ],
        },
      ),
      'a list of none': create(
        'owner',
        { field_type: 3, name: 'None' },
        { type: 'DROPDOWN', name: 'None' },
        'BAD_REQUEST',
      ),
      'an account': account('Log', 'https://example.com/%(username)s'),
      'an account nowhere': account('Nowhere', 'https://example.com/', 'BAD_REQUEST'),
    });
  });

  test.concurrent('PATCH, DELETE /realm/profile_fields/{id} and PATCH /realm/profile_fields', async () => {
    const at = (name: 'ship' | 'flag' | 'mates') => (fields: Fields) => `/realm/profile_fields/${fields[name]}`;
    const order = (who: Who, of: (fields: Fields) => number[], code?: string) =>
      act(
        who,
        'PATCH',
        () => '/realm/profile_fields',
        'reorderCustomProfileFields',
        (fields) => ({ order: of(fields) }),
        (fields) => ({ order: of(fields) }),
        code,
      );
    const rename = (who: Who, name: string, code?: string) =>
      act(
        who,
        'PATCH',
        at('ship'),
        'updateCustomProfileField',
        () => ({ name, required: true }),
        ({ ship }) => ({ fieldId: ship, name, required: true }),
        code,
      );
    const remove = (who: Who, code?: string) =>
      act(
        who,
        'DELETE',
        at('mates'),
        'deleteCustomProfileField',
        () => ({}),
        ({ mates }) => ({ fieldId: mates }),
        code,
      );
    await expectParity(withFields, {
      'a member': rename('member', 'Vessel', 'UNAUTHORIZED_PRINCIPAL'),
      'a new label': rename('owner', 'Vessel'),
      'one in use': rename('owner', 'Flag', 'BAD_REQUEST'),
      'other choices': act(
        'owner',
        'PATCH',
        at('flag'),
        'updateCustomProfileField',
        () => ({ field_data: { b: { text: 'Blue', order: '1' } } }),
        ({ flag }) => ({ fieldId: flag, choices: [{ key: 'b', text: 'Blue' }] }),
      ),
      'an order of some': order('owner', ({ ship }) => [ship], 'BAD_REQUEST'),
      'an order': order('owner', ({ ship, flag, mates }) => [mates, ship, flag]),
      'a moderator deletes': remove('moderator', 'UNAUTHORIZED_PRINCIPAL'),
      'an administrator deletes': remove('administrator'),
      again: remove('administrator', 'BAD_REQUEST'),
    });
  });

  test.concurrent('PATCH, DELETE /users/me/profile_data and PATCH /users/{user_id}', async () => {
    const own = (who: Who, values: (fields: Fields) => [number, string | null][], code?: string) =>
      act(
        who,
        'PATCH',
        () => '/users/me/profile_data',
        'updateProfileData',
        (fields) => ({ data: values(fields).map(([id, value]) => ({ id, value })) }),
        (fields) => ({ values: values(fields).map(([fieldId, text]) => ({ fieldId, text })) }),
        code,
      );
    const remove = (who: Who, of: (fields: Fields) => number[], code?: string) =>
      act(
        who,
        'DELETE',
        () => '/users/me/profile_data',
        'removeProfileData',
        (fields) => ({ data: of(fields) }),
        (fields) => ({ fieldIds: of(fields) }),
        code,
      );
    const mates = (who: Who, of: (fields: Fields) => number[], code?: string) =>
      act(
        who,
        'PATCH',
        ({ member }) => `/users/${member.id}`,
        'updateUser',
        (fields) => ({ profile_data: [{ id: fields.mates, value: of(fields) }] }),
        (fields) => ({ userId: fields.member.id, profileData: [{ fieldId: fields.mates, userIds: of(fields) }] }),
        code,
      );
    await expectParity(withFields, {
      'a text and a choice': own('member', ({ ship, flag }) => [
        [ship, '*Argo*'],
        [flag, 'r'],
      ]),
      'no choice': own('member', ({ flag }) => [[flag, 'x']], 'BAD_REQUEST'),
      'a field that is not there': own('member', () => [[NOBODY, 'x']], 'BAD_REQUEST'),
      'what only administrators change': remove('guest', ({ mates }) => [mates], 'BAD_REQUEST'),
      'a bot': own('bot', ({ ship }) => [[ship, 'Argo']], 'BAD_REQUEST'),
      nothing: own('member', ({ ship }) => [[ship, null]]),
      removed: remove('member', ({ flag }) => [flag]),
      'by an administrator': mates('administrator', ({ guest, owner }) => [guest.id, owner.id]),
      'a bot as a mate': mates('administrator', ({ bot }) => [bot.id], 'BAD_REQUEST'),
      'by a member': mates('member', ({ guest }) => [guest.id], 'UNAUTHORIZED_PRINCIPAL'),
      emptied: mates('owner', () => []),
    });
  });
});

describe('event queues', () => {
  const lost = 'BAD_EVENT_QUEUE_ID';
  const absent = '00000000-0000-4000-8000-000000000000';

  test.concurrent('POST /users/me/presence and recordPresence', async () => {
    const ping = bothDoors('POST', '/users/me/presence', 'recordPresence');
    const act = (who: Who, status: 'active' | 'idle', code?: string) =>
      ping(
        who,
        () => ({ status }),
        () => ({ status: status.toUpperCase() }),
        code,
      );
    await expectParity(furnish, {
      'somebody who comes': act('member', 'active'),
      'the same again': act('member', 'active'),
      'somebody idle': act('guest', 'idle'),
      'a bot': act('bot', 'active', 'BAD_REQUEST'),
    });
  });

  test.concurrent('PATCH /realm/user_settings_defaults and updateUserSettingsDefaults', async () => {
    const edit = bothDoors('PATCH', '/realm/user_settings_defaults', 'updateUserSettingsDefaults');
    const act = (who: Who, rest: object, graphql: object, code?: string) =>
      edit(
        who,
        () => rest,
        () => graphql,
        code,
      );
    const dark = [{ color_scheme: 2 }, { colorScheme: 'DARK' }] as const;
    await expectParity(furnish, {
      'another one': act('administrator', ...dark),
      'the same': act('administrator', ...dark),
      'one there is not': act('administrator', { web_font_size_px: 0 }, { webFontSizePx: 0 }, 'BAD_REQUEST'),
      'by a moderator': act('moderator', ...dark, 'UNAUTHORIZED_PRINCIPAL'),
    });
  });

  test.concurrent('PATCH /settings with target_users and updateSettingsOf', async () => {
    const edit = bothDoors('PATCH', '/settings', 'updateSettingsOf');
    const act = (who: Who, ids: (world: World) => number[], code?: string, skipsEdited = false) =>
      edit(
        who,
        (world) => ({ color_scheme: 3, target_users: { user_ids: ids(world), skip_if_already_edited: skipsEdited } }),
        (world) => ({ colorScheme: 'LIGHT', userIds: ids(world), skipsEdited }),
        code,
      );
    await expectParity(furnish, {
      'of two': act('administrator', ({ member, guest }) => [member.id, guest.id]),
      'of those who have not chosen': act(
        'owner',
        ({ member, moderator }) => [member.id, moderator.id],
        undefined,
        true,
      ),
      'of a bot': act('owner', ({ member, bot }) => [member.id, bot.id], 'BAD_REQUEST'),
      'of nobody known': act('owner', () => [NOBODY], 'BAD_REQUEST'),
      'by a member': act('member', ({ guest }) => [guest.id], 'UNAUTHORIZED_PRINCIPAL'),
    });
  });

  test.concurrent('POST /register and registerEventQueue', async () => {
    const act = (who: Who, rest: object, graphql: object, code?: string) =>
      bothDoors('POST', '/register', 'registerEventQueue')(
        who,
        () => rest,
        () => graphql,
        code,
      );
    const narrow = (operator: string, operand: string) => [[operator, operand]];
    await expectParity(furnish, {
      plain: act('guest', {}, {}),
      'with options': act(
        'member',
        {
          event_types: ['drafts'],
          narrow: narrow('channel', 'general'),
          idle_queue_timeout: 60,
          all_public_streams: true,
        },
        {
          ...{ eventTypes: ['DRAFTS'], idleTimeoutSeconds: 60, allPublicChannels: true },
          narrow: [{ channelName: 'general' }],
        },
      ),
      'all public channels, as a guest': act(
        'guest',
        { all_public_streams: true },
        { allPublicChannels: true },
        'BAD_REQUEST',
      ),
      'a narrow of more terms than anybody needs': act(
        'member',
        { narrow: Array.from({ length: 21 }, () => ['is', 'dm']) },
        { narrow: Array.from({ length: 21 }, () => ({ is: 'DIRECT' })) },
        'BAD_REQUEST',
      ),
    });
  });

  test.concurrent('DELETE /events and deleteEventQueue', async () => {
    const queue = async (twin: Twin) => ({ ...(await furnish(twin)), ...(await twin.people.member.register()) });
    const act = (who: Who, id: (world: Json) => string, code?: string) =>
      bothDoors('DELETE', '/events', 'deleteEventQueue')(
        who,
        (world) => ({ queue_id: id(world) }),
        (world) => ({ queueId: id(world) }),
        code,
      );
    // The ids in the messages differ by nature, so codes and reasons are compared below.
    await expectParity(queue, { one: act('member', ({ queue_id }) => queue_id) });
    await expectParity(queue, { 'one that is not there': act('member', () => absent, lost) });
  });

  test.concurrent('GET /events and events: the same code and the same reason for every loss', async () => {
    const { member, owner } = await organisation();
    const { queue_id, last_event_id } = await member.register();
    const ended = await member.register();
    await member.ok('DELETE', '/events', { queue_id: ended.queue_id });
    const both = async (person: Person, queueId: string, after: number) => {
      const parameters = { queue_id: queueId, last_event_id: after, dont_block: true };
      const { body } = await person.rest('GET', '/events', parameters);
      const query = 'query ($q: String!, $a: LongId) { events(queueId: $q, after: $a) { events { position } } }';
      const { errors } = await person.graphql(query, { q: queueId, a: after });
      const [failure] = errors ?? [];
      expect([failure.extensions.code, failure.extensions.reason, failure.message]).toEqual([
        body.code,
        body.reason,
        body.msg,
      ]);
      return [body.code, body.reason];
    };
    expect(await both(member, absent, -1)).toEqual([lost, 'unknown']);
    expect(await both(member, 'nonsense', -1)).toEqual([lost, 'unknown']);
    expect(await both(owner, queue_id, last_event_id)).toEqual([lost, 'unknown']);
    expect(await both(member, ended.queue_id, ended.last_event_id)).toEqual([lost, 'expired']);
    expect(await both(member, queue_id, last_event_id + 1_000)).toEqual([lost, 'from_future']);
  });

  test.concurrent('GET /events and events: every event is shown by both, and says the same of itself', async () => {
    const { owner, administrator, member, guest } = await organisation();
    const { queue_id, last_event_id } = await member.register();
    const { id } = await owner.ok('POST', '/channels/create', {
      name: 'a',
      subscribers: [guest.id],
      is_default_stream: true,
    });
    const { id: shut } = await member.ok('POST', '/channels/create', {
      name: 'b',
      subscribers: [member.id],
      invite_only: true,
    });
    const one = { stream_id: shut, property: 'is_muted', value: true };
    await member.ok('POST', '/users/me/subscriptions/properties', {
      subscription_data: [one, { ...one, property: 'color', value: '#000000' }],
    });
    await owner.ok('PATCH', `/streams/${id}`, {
      new_name: 'c',
      description: 'd',
      is_default_stream: false,
      is_private: undefined,
    });
    await owner.ok('DELETE', '/users/me/subscriptions', {
      subscriptions: ['c', 'b'],
      principals: [guest.id, member.id],
    });
    await owner.ok('PATCH', `/users/${guest.id}`, { full_name: 'Gia', role: 400 });
    await owner.ok('POST', '/users', { email: 'new@example.com', password: 'correct horse', full_name: 'New' });
    const { channel_folder_id } = await administrator.ok('POST', '/channel_folders/create', {
      name: 'F',
      description: '',
    });
    await administrator.ok('PATCH', `/channel_folders/${channel_folder_id}`, { name: 'G' });
    await administrator.ok('PATCH', '/channel_folders', { order: [channel_folder_id] });
    const { ids } = await member.ok('POST', '/drafts', { drafts: [note] });
    await member.ok('PATCH', `/drafts/${ids[0]}`, { draft: note });
    await member.ok('DELETE', `/drafts/${ids[0]}`);
    const { saved_snippet_id } = await member.ok('POST', '/saved_snippets', { title: 'a', content: 'b' });
    await member.ok('PATCH', `/saved_snippets/${saved_snippet_id}`, { title: 'c' });
    await member.ok('DELETE', `/saved_snippets/${saved_snippet_id}`);
    await guest.ok('POST', '/users/me/presence', { status: 'active', ping_only: true });
    await owner.ok('PATCH', '/realm/user_settings_defaults', { color_scheme: 2 });
    const heard = await member.poll(queue_id, last_event_id, { dontBlock: true });
    const kinds = new Set(heard.map(({ type, op }) => `${type} ${op ?? ''}`.trim()));
    expect(kinds.size).toBeGreaterThan(18);
    const read = async (selection: string) => {
      const query = `query ($q: String!, $a: LongId) { events(queueId: $q, after: $a) {
        hasMore events { __typename position type ${selection} } } }`;
      return (await member.query(query, { q: queue_id, a: last_event_id })).events;
    };
    const { events: shown, hasMore } = await read('');
    expect(hasMore).toBe(false);
    const told = heard.map(({ id, type }) => [id, type.toUpperCase()]);
    expect(shown.map(({ position, type }: Json) => [position, type])).toEqual(told);
    // One type of its own for each kind, and each says more than its id and type.
    const names = new Map(heard.map(({ type, op }, i) => [`${type} ${op ?? ''}`.trim(), shown[i].__typename]));
    expect(new Set(names.values()).size).toBe(kinds.size);
    const selectionOf = await selections(member);
    for (const [kind, name] of names) {
      const { events } = await read(`... on ${name} { ${selectionOf(name)} }`);
      for (const [i, { type, op }] of heard.entries()) {
        const { __typename, position: _, type: _type, ...fields } = events[i];
        if (`${type} ${op ?? ''}`.trim() !== kind) continue;
        expect(__typename).toBe(name);
        expect(Object.keys(fields).length, name).toBeGreaterThan(0);
      }
    }
  });
});

/** For a type, every field of it, however deep. */
async function selections(person: Person): Promise<(type: string) => string> {
  const { __schema } = await person.query(`{ __schema { types { kind name
    fields { name type { ...T ofType { ...T ofType { ...T ofType { ...T } } } } } } } }
    fragment T on __Type { kind name }`);
  const types = new Map<string, Json>(__schema.types.map((type: Json) => [type.name, type]));
  const named = (type: Json): Json => (type.ofType == null ? types.get(type.name) : named(type.ofType));
  const selectionOf = (name: string): string =>
    types
      .get(name)
      .fields.map(({ name, type }: Json) => {
        const inner = named(type);
        return inner.kind === 'OBJECT' ? `${name} { ${selectionOf(inner.name)} }` : name;
      })
      .join(' ');
  return selectionOf;
}

describe('what is read', () => {
  /** GraphQL's words for what REST calls otherwise. */
  const USER = `databaseId deliveryEmail email fullName role isActive isBot botType botOwner { databaseId } timezone
    avatarUrl avatarVersion isImportedStub joinedAt`;
  const ROLES: Record<string, number> = { OWNER: 100, ADMINISTRATOR: 200, MODERATOR: 300, MEMBER: 400, GUEST: 600 };

  const toRestUser = (user: Json) => ({
    ...{ user_id: user.databaseId, delivery_email: user.deliveryEmail, email: user.email, full_name: user.fullName },
    ...{ is_active: user.isActive, is_bot: user.isBot, bot_type: user.botType === 'GENERIC' ? 1 : null },
    ...{ bot_owner_id: user.botOwner?.databaseId ?? null, role: ROLES[user.role], timezone: user.timezone },
    ...{ is_owner: user.role === 'OWNER', is_admin: ['OWNER', 'ADMINISTRATOR'].includes(user.role) },
    ...{ is_guest: user.role === 'GUEST', avatar_url: user.avatarUrl, avatar_version: user.avatarVersion },
    ...{ is_imported_stub: user.isImportedStub, date_joined: user.joinedAt.replace(':00.000Z', '+00:00') },
  });

  test.concurrent('GET /users, /users/{user_id}, /users/{email}, /users/me and users, user, viewer', async () => {
    const { guest, owner, member } = await organisation();
    const { users } = await guest.query(`{ users { edges { node { ${USER} } } } }`);
    const members = users.edges.map(({ node }: Json) => toRestUser(node));
    expect((await guest.ok('GET', '/users', { client_gravatar: false })).members).toEqual(members);
    const { byId, byEmail, viewer } = await guest.query(
      `query ($userId: ID, $email: String) { byId: user(userId: $userId) { ${USER} } byEmail: user(email: $email) { ${USER} }
        viewer { ${USER} } }`,
      { userId: owner.id, email: member.email },
    );
    const get = async (who: number | string) =>
      (await guest.ok('GET', `/users/${who}`, { client_gravatar: false })).user;
    expect(toRestUser(byId)).toEqual(await get(owner.id));
    expect(toRestUser(byEmail)).toEqual(await get(member.email));
    const me = await guest.ok('GET', '/users/me');
    expect(me).toMatchObject(toRestUser(viewer));
    for (const [who, argument] of [
      [NOBODY, `userId: "${globalId('User', NOBODY)}"`],
      ['x@example.com', 'email: "x@example.com"'],
    ] as const) {
      const { body } = await guest.rest('GET', `/users/${who}`);
      const { errors } = await guest.graphql(`{ user(${argument}) { databaseId } }`);
      expect([errors?.[0].extensions.code, errors?.[0].message]).toEqual([body.code, body.msg]);
    }
  });

  const CHANNEL = `databaseId name description renderedDescription isPrivate isWebPublic historyPublicToSubscribers
    isArchived isRecentlyActive weeklyTraffic topicsPolicy messageRetentionDays createdAt creator { databaseId }
    folder { databaseId } subscriberCount permissions { canSendMessage { ...G } canAdministerChannel { ...G } }`;
  const GROUP = 'fragment G on GroupSetting { groupId directMemberIds directSubgroupIds }';
  const toRestSetting = ({ groupId, directMemberIds, directSubgroupIds }: Json) =>
    groupId === null
      ? { direct_members: directMemberIds.map(numberOf), direct_subgroups: directSubgroupIds.map(numberOf) }
      : numberOf(groupId);
  const toRestChannel = (channel: Json) => ({
    ...{ stream_id: channel.databaseId, name: channel.name, description: channel.description },
    ...{ rendered_description: channel.renderedDescription, invite_only: channel.isPrivate },
    ...{ is_web_public: channel.isWebPublic, history_public_to_subscribers: channel.historyPublicToSubscribers },
    ...{ is_archived: channel.isArchived, is_recently_active: channel.isRecentlyActive },
    ...{ stream_weekly_traffic: channel.weeklyTraffic, topics_policy: channel.topicsPolicy.toLowerCase() },
    ...{ message_retention_days: channel.messageRetentionDays, creator_id: channel.creator?.databaseId ?? null },
    ...{
      date_created: Math.floor(Date.parse(channel.createdAt) / 1000),
      folder_id: channel.folder?.databaseId ?? null,
    },
    subscriber_count: channel.subscriberCount,
    can_send_message_group: toRestSetting(channel.permissions.canSendMessage),
    can_administer_channel_group: toRestSetting(channel.permissions.canAdministerChannel),
  });

  test.concurrent('GET /streams, /streams/{stream_id} and channels, channel', async () => {
    const people = await organisation();
    const { owner, member, guest, moderator } = people;
    const { channel_folder_id } = await owner.ok('POST', '/channel_folders/create', { name: 'F', description: '' });
    const fields = { subscribers: [member.id, guest.id], folder_id: channel_folder_id, description: '*a*' };
    const { id } = await owner.ok('POST', '/channels/create', { name: 'a', ...fields });
    const { id: hidden } = await member.ok('POST', '/channels/create', {
      name: 'b',
      subscribers: [member.id],
      invite_only: true,
    });
    await member.ok('POST', '/channels/create', { name: 'c', subscribers: [] });
    for (const person of [owner, moderator, member, guest]) {
      const { channels } = await person.query(`{ channels { edges { node { ${CHANNEL} } } } } ${GROUP}`);
      const { streams } = await person.ok('GET', '/streams', { include_all: true });
      const shown = channels.edges.map(({ node }: Json) => toRestChannel(node));
      expect(streams.map(({ name }: Json) => name)).toEqual(shown.map(({ name }: Json) => name));
      expect(streams).toMatchObject(shown);
    }
    const { channel } = await guest.query(
      `query ($channelId: ID) { channel(channelId: $channelId) { ${CHANNEL} } } ${GROUP}`,
      {
        channelId: id,
      },
    );
    expect((await guest.ok('GET', `/streams/${id}`)).stream).toMatchObject(toRestChannel(channel));
    const { body } = await moderator.rest('GET', `/streams/${hidden}`);
    const { errors } = await moderator.graphql(`{ channel(channelId: "${globalId('Channel', hidden)}") { name } }`);
    expect([errors?.[0].extensions.code, errors?.[0].message]).toEqual([body.code, body.msg]);
  });

  test.concurrent('GET /users/me/subscriptions and subscriptions', async () => {
    const { member, guest } = await organisation();
    for (const name of ['a', 'b'])
      await member.ok('POST', '/channels/create', { name, subscribers: [member.id, guest.id] });
    const { subscriptions } = await member.query(`{ subscriptions { edges { node { color isMuted pinToTop
      desktopNotifications audibleNotifications pushNotifications emailNotifications wildcardMentionsNotify
      channel { ${CHANNEL} subscribers { edges { node { databaseId } } } } } } } } ${GROUP}`);
    const shown = subscriptions.edges.map(({ node }: Json) => ({
      ...{ color: node.color, is_muted: node.isMuted, in_home_view: !node.isMuted, pin_to_top: node.pinToTop },
      ...{ desktop_notifications: node.desktopNotifications, audible_notifications: node.audibleNotifications },
      ...{ push_notifications: node.pushNotifications, email_notifications: node.emailNotifications },
      wildcard_mentions_notify: node.wildcardMentionsNotify,
      ...toRestChannel(node.channel),
      subscribers: node.channel.subscribers.edges
        .map((edge: Json) => edge.node.databaseId)
        .filter((id: number) => id !== member.id),
    }));
    const reply = await member.ok('GET', '/users/me/subscriptions', { include_subscribers: 'true' });
    expect(shown).toHaveLength(2);
    expect(reply.subscriptions).toMatchObject(shown);
  });

  test.concurrent('GET /user_groups, their members and subgroups and userGroups, userGroup', async () => {
    const { owner, member, moderator } = await organisation();
    const group = (name: string, more: object) =>
      owner.ok('POST', '/user_groups/create', { name, description: 'x', members: [], ...more });
    const { group_id: inner } = await group('inner', { members: [member.id] });
    const { group_id: outer } = await group('outer', { members: [moderator.id], subgroups: [inner] });
    const IDS = '{ edges { node { databaseId } } }';
    const { userGroups, userGroup } = await member.query(`{
      userGroups(first: 50) { edges { node { databaseId name description isRoleGroup isDeactivated createdAt
        creator { databaseId } members(directOnly: true) ${IDS} subgroups(directOnly: true) ${IDS} } } }
      userGroup(userGroupId: "${globalId('UserGroup', outer)}") { members ${IDS} subgroups ${IDS} } }`);
    const ids = ({ edges }: Json) => edges.map(({ node }: Json) => node.databaseId);
    const { user_groups } = await member.ok('GET', '/user_groups');
    expect(user_groups).toMatchObject(
      userGroups.edges.map(({ node }: Json) => ({
        ...{ id: node.databaseId, name: node.name, description: node.description, deactivated: node.isDeactivated },
        ...{ is_system_group: node.isRoleGroup, date_created: Math.floor(Date.parse(node.createdAt) / 1000) },
        creator_id: node.creator?.databaseId ?? null,
        members: ids(node.members),
        direct_subgroup_ids: ids(node.subgroups),
      })),
    );
    expect((await member.ok('GET', `/user_groups/${outer}/members`)).members).toEqual(ids(userGroup.members));
    expect((await member.ok('GET', `/user_groups/${outer}/subgroups`)).subgroups).toEqual(ids(userGroup.subgroups));
    expect(ids(userGroup.members)).toHaveLength(2);
  });

  test.concurrent('GET /drafts, /saved_snippets, /channel_folders and drafts, savedSnippets, channelFolders', async () => {
    const { owner, member } = await organisation();
    await member.ok('POST', '/drafts', {
      drafts: [
        { ...note, timestamp: 5 },
        { ...note, timestamp: 7 },
      ],
    });
    await member.ok('POST', '/saved_snippets', { title: 'a', content: 'b' });
    for (const name of ['A', 'B']) await owner.ok('POST', '/channel_folders/create', { name, description: '*c*' });
    const { drafts, savedSnippets, channelFolders } = await member.query(`{
      drafts { edges { node { databaseId type channelId directTo topic content lastEditedAt } } }
      savedSnippets { edges { node { databaseId title content createdAt } } }
      channelFolders { edges { node { databaseId name description renderedDescription order isArchived createdAt
        creator { databaseId } } } } }`);
    const seconds = (time: string) => Math.floor(Date.parse(time) / 1000);
    const nodes = ({ edges }: Json) => edges.map(({ node: { databaseId: id, ...node } }: Json) => ({ id, ...node }));
    // Last edited first on GraphQL, last on REST.
    expect((await member.ok('GET', '/drafts')).drafts.toReversed()).toEqual(
      nodes(drafts).map(({ lastEditedAt, type: _, channelId, directTo, ...draft }: Json) => ({
        ...draft,
        to: [...(channelId === null ? [] : [channelId]), ...directTo],
        type: '',
        timestamp: seconds(lastEditedAt),
      })),
    );
    expect((await member.ok('GET', '/saved_snippets')).saved_snippets).toEqual(
      nodes(savedSnippets).map(({ createdAt, ...snippet }: Json) => ({ ...snippet, date_created: seconds(createdAt) })),
    );
    expect((await member.ok('GET', '/channel_folders')).channel_folders).toEqual(
      nodes(channelFolders).map(({ createdAt, renderedDescription, isArchived, creator, ...folder }: Json) => ({
        ...folder,
        ...{ date_created: seconds(createdAt), rendered_description: renderedDescription, is_archived: isArchived },
        creator_id: creator.databaseId,
      })),
    );
  });
});
