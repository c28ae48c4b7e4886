import type { InProcess } from './in-process.ts';
import type { Parameters, Person, RestReply } from './person.ts';
import { PNG } from './pictures.ts';
import { type Organization, organization } from './server.ts';
import { channelOf, say, toTopic } from './talk.ts';

/** An organization whose users can create objects up to their limits. */
export interface Hoard extends Organization {
  readonly channelId: number;
  /** A message of the member with 9,500 characters. */
  readonly messageId: number;
  /** Runs an SQL statement. `$1` is the organization's id, `$2` the member's id, and the given values follow. */
  sql(statement: string, ...values: unknown[]): Promise<number>;
}

/** One kind of object with a limit on its number or total size. */
export interface Pile {
  /** Creates objects up to the limit directly in the database, which is fast. */
  readonly fill: (hoard: Hoard) => Promise<unknown>;
  /** Adds one more object over REST. Each number results in a different object. */
  readonly rest: (hoard: Hoard, i: number) => Promise<RestReply>;
  /** Mutation and input that add one more object. */
  readonly graphql: (hoard: Hoard, i: number) => readonly [mutation: string, input: Parameters];
  /** SQL query for the current total. Returns one row with the column `held`. */
  readonly held: string;
  /** Removes one object that `fill` created. An SQL statement if neither API can remove the object. */
  readonly free: string | ((hoard: Hoard) => Promise<unknown>);
}

export async function makeHoard({ app, ...on }: InProcess): Promise<Hoard> {
  const people = await organization({}, { on });
  const { owner, member, guest } = people;
  const channelId = await channelOf(owner, 'general', [owner, member, guest]);
  const messageId = await say(member, channelId, 'ships', 'x'.repeat(9_500));
  return {
    ...people,
    channelId,
    messageId,
    sql: (statement, ...values) => {
      const all = [people.realm.id, member.id, ...values];
      // Some statements use only one of the first two parameters.
      const used = `WITH given AS (SELECT $1::int, $2::int) ${statement}`;
      return app.db.$executeRawUnsafe(used, ...all);
    },
  };
}

const LATER = { scheduled_delivery_timestamp: 4_102_444_800 };
const LATER_TOO = '2100-01-01T00:00:00Z';
/** Names of existing emoji, more than fit on a message. */
const EMOJI = ['octopus', 'tada', 'heart', 'rocket', 'sushi', 'cat'];

const draftOf = (content: string) => ({ type: '', to: [], topic: '', content });
const later = (channelId: number, content: string) => ({
  type: 'channel',
  to: channelId,
  topic: 't',
  content,
  ...LATER,
});
const waiting = (kind: string, target: string) => `
  INSERT INTO scheduled_message (realm_id, owner_id, kind, recipient_ids, content, rendered_content, scheduled_at,
                                 client_name, reminder_target_id)
  SELECT $1, $2, '${kind}', ARRAY[$2::int], repeat('x', $4::int), repeat('x', $4::int), '2099-01-01', 'test', ${target}
  FROM generate_series(1, $3::int)`;
const heldBy = (table: string, who: string, what = 'count(*)') =>
  `SELECT ${what}::int AS held FROM ${table} WHERE ${who}`;
const removeFirst = async (by: Person, list: string, id: string) => {
  const {
    [list.slice(1)]: [first],
  } = await by.ok('GET', list);
  await by.ok('DELETE', `${list}/${first[id]}`);
};

const drafts = {
  rest: ({ member }: Hoard, content: string) => member.rest('POST', '/drafts', { drafts: [draftOf(content)] }),
  graphql: (content: string) => ['createDrafts', { drafts: [{ content }] }] as const,
  fill: `INSERT INTO draft (realm_id, author_id, type, "to", topic, content, last_edited_at)
    SELECT $1, $2, '', '{}', '', repeat('x', $4::int), now() FROM generate_series(1, $3::int)`,
  free: ({ member }: Hoard) => removeFirst(member, '/drafts', 'id'),
};
const snippets = {
  fill: `INSERT INTO saved_snippet (realm_id, author_id, title, content)
    SELECT $1, $2, 't', repeat('x', $4::int) FROM generate_series(1, $3::int)`,
  free: ({ member }: Hoard) => removeFirst(member, '/saved_snippets', 'id'),
};
const reactions = {
  fill: `INSERT INTO reaction (realm_id, message_id, user_id, emoji_name, emoji_code, reaction_type)
    SELECT $1, $3::bigint, u.id, 'x', u.id || '-' || e, 'unicode_emoji'
    FROM unnest($4::int[]) AS u(id), generate_series(1, 25) AS e`,
  rest: ({ member, messageId }: Hoard, i: number) =>
    member.rest('POST', `/messages/${messageId}/reactions`, { emoji_name: EMOJI[i] }),
  graphql: ({ messageId }: Hoard, i: number) => ['addReaction', { messageId, emojiName: EMOJI[i] }] as const,
};
const channels = {
  fill: (creator: string) => `INSERT INTO channel (realm_id, name, creator_id)
    SELECT $1, 'channel ' || n, ${creator} FROM generate_series(1, $3::int) AS n`,
  rest: ({ member }: Hoard, i: number) =>
    i % 2 === 0
      ? member.rest('POST', '/channels/create', { name: `new ${i}`, subscribers: [] })
      : // `POST /users/me/subscriptions` is the second endpoint that creates channels.
        member.rest('POST', '/users/me/subscriptions', { subscriptions: [{ name: `new ${i}` }] }),
  graphql: (_: Hoard, i: number) => ['createChannel', { name: `new ${i}` }] as const,
};
const groups = {
  fill: (creator: string) => `INSERT INTO user_group (realm_id, name, creator_id, deactivated_at)
    SELECT $1, 'group ' || n, ${creator}, now() FROM generate_series(1, $3::int) AS n`,
  rest: ({ member }: Hoard, i: number) =>
    member.rest('POST', '/user_groups/create', { name: `new ${i}`, description: '', members: [] }),
  graphql: (_: Hoard, i: number) => ['createUserGroup', { name: `new ${i}`, description: '', memberIds: [] }] as const,
};
const emoji = {
  fill: (author: string) => `, picture AS (
      INSERT INTO image (id, realm_id, media_type, bytes) VALUES (gen_random_uuid(), $1, 'image/png', '') RETURNING id)
    INSERT INTO custom_emoji (realm_id, name, author_id, image_id)
    SELECT $1, 'emoji' || n, ${author}, picture.id FROM picture, generate_series(1, $3::int) AS n`,
  rest: ({ member }: Hoard, i: number) => member.rest('POST', `/realm/emoji/new${i}`, { file: PNG }),
  graphql: (_: Hoard, i: number) => ['addCustomEmoji', { name: `new${i}`, image: PNG }] as const,
};

/** Every limit in `TOTALS` that refuses further objects, with the means to test it. */
export const PILES: Readonly<Record<string, Pile>> = {
  drafts: {
    ...drafts,
    fill: ({ sql }) => sql(drafts.fill, 1_000, 1),
    rest: (hoard) => drafts.rest(hoard, 'x'),
    graphql: () => drafts.graphql('x'),
    held: heldBy('draft', 'author_id = $1'),
  },
  drafts_total_length: {
    ...drafts,
    fill: ({ sql }) => sql(drafts.fill, 50, 10_000),
    rest: (hoard) => drafts.rest(hoard, 'x'.repeat(10_000)),
    graphql: () => drafts.graphql('x'.repeat(10_000)),
    held: heldBy('draft', 'author_id = $1', 'sum(char_length(content))'),
  },
  saved_snippets: {
    ...snippets,
    fill: ({ sql }) => sql(snippets.fill, 1_000, 1),
    rest: ({ member }) => member.rest('POST', '/saved_snippets', { title: 't', content: 'x' }),
    graphql: () => ['createSavedSnippet', { title: 't', content: 'x' }],
    held: heldBy('saved_snippet', 'author_id = $1'),
  },
  saved_snippets_total_length: {
    ...snippets,
    fill: ({ sql }) => sql(snippets.fill, 50, 10_000),
    rest: ({ member }) => member.rest('POST', '/saved_snippets', { title: 't', content: 'x'.repeat(10_000) }),
    graphql: () => ['createSavedSnippet', { title: 't', content: 'x'.repeat(10_000) }],
    held: heldBy('saved_snippet', 'author_id = $1', 'sum(char_length(content))'),
  },
  scheduled_messages: {
    fill: ({ sql }) => sql(waiting('message', 'NULL'), 1_000, 1),
    rest: ({ member, channelId }) => member.rest('POST', '/scheduled_messages', later(channelId, 'x')),
    graphql: ({ channelId }) => [
      'scheduleMessage',
      { to: toTopic(channelId, 't'), content: 'x', scheduledAt: LATER_TOO },
    ],
    held: heldBy('scheduled_message', "owner_id = $1 AND kind = 'message'"),
    free: ({ member }) => removeFirst(member, '/scheduled_messages', 'scheduled_message_id'),
  },
  scheduled_messages_total_length: {
    fill: ({ sql }) => sql(waiting('message', 'NULL'), 100, 10_000),
    rest: ({ member, channelId }) => member.rest('POST', '/scheduled_messages', later(channelId, 'x'.repeat(9_900))),
    graphql: ({ channelId }) => [
      'scheduleMessage',
      { to: toTopic(channelId, 't'), content: 'x'.repeat(9_900), scheduledAt: LATER_TOO },
    ],
    held: heldBy('scheduled_message', "owner_id = $1 AND kind = 'message'"),
    free: ({ member }) => removeFirst(member, '/scheduled_messages', 'scheduled_message_id'),
  },
  reminders: {
    fill: ({ sql, messageId }) => sql(waiting('reminder', String(messageId)), 1_000, 1),
    rest: ({ member, messageId }) => member.rest('POST', '/reminders', { message_id: messageId, ...LATER }),
    graphql: ({ messageId }) => ['createReminder', { messageId, scheduledAt: LATER_TOO }],
    held: heldBy('scheduled_message', "owner_id = $1 AND kind = 'reminder'"),
    free: ({ member }) => removeFirst(member, '/reminders', 'reminder_id'),
  },
  reminders_total_length: {
    fill: ({ sql, messageId }) => sql(waiting('reminder', String(messageId)), 50, 10_000),
    rest: ({ member, messageId }) => member.rest('POST', '/reminders', { message_id: messageId, ...LATER }),
    graphql: ({ messageId }) => ['createReminder', { messageId, scheduledAt: LATER_TOO }],
    held: heldBy('scheduled_message', "owner_id = $1 AND kind = 'reminder'"),
    free: ({ member }) => removeFirst(member, '/reminders', 'reminder_id'),
  },
  alert_words: {
    fill: ({ sql }) =>
      sql(`INSERT INTO alert_word (realm_id, user_id, word, head)
      SELECT $1, $2, 'word' || n, 'word' || n FROM generate_series(1, 500) AS n`),
    rest: ({ member }, i) => member.rest('POST', '/users/me/alert_words', { alert_words: [`new${i}`] }),
    graphql: (_, i) => ['addAlertWords', { words: [`new${i}`] }],
    held: heldBy('alert_word', 'user_id = $1'),
    free: ({ member }) => member.ok('DELETE', '/users/me/alert_words', { alert_words: ['word1'] }),
  },
  navigation_views: {
    fill: ({ sql }) =>
      sql(`INSERT INTO navigation_view (realm_id, user_id, fragment, is_pinned, name)
      SELECT $1, $2, 'view' || n, false, 'name ' || n FROM generate_series(1, 1000) AS n`),
    rest: ({ member }, i) =>
      member.rest('POST', '/navigation_views', { fragment: `new${i}`, is_pinned: false, name: `new ${i}` }),
    graphql: (_, i) => ['addNavigationView', { fragment: `new${i}`, isPinned: false, name: `new ${i}` }],
    held: heldBy('navigation_view', 'user_id = $1'),
    free: ({ member }) => member.ok('DELETE', '/navigation_views/view1'),
  },
  user_topics: {
    // One row exists already: the member follows the topic of their own message.
    fill: ({ sql, channelId }) =>
      sql(
        `INSERT INTO user_topic (realm_id, user_id, channel_id, topic, policy, last_updated)
       SELECT $1, $2, $3::int, 'topic ' || n, 1, now() FROM generate_series(1, 9999) AS n`,
        channelId,
      ),
    rest: ({ member, channelId }, i) =>
      member.rest('POST', '/user_topics', { stream_id: channelId, topic: `new ${i}`, visibility_policy: 1 }),
    graphql: ({ channelId }, i) => ['setTopicVisibility', { channelId, topic: `new ${i}`, visibility: 'MUTED' }],
    held: heldBy('user_topic', 'user_id = $1'),
    free: ({ member, channelId }) =>
      member.ok('POST', '/user_topics', { stream_id: channelId, topic: 'topic 1', visibility_policy: 0 }),
  },
  bots_per_user: {
    fill: ({ sql }) =>
      sql(`INSERT INTO user_account (realm_id, email, full_name, bot_type, bot_owner_id, is_active)
      SELECT $1, 'old' || n || '-bot@example.com', 'old ' || n, 1, $2, n = 1 FROM generate_series(1, 200) AS n`),
    rest: ({ member }, i) => member.rest('POST', '/bots', { full_name: `new ${i}`, short_name: `new${i}` }),
    graphql: (_, i) => ['createBot', { fullName: `new ${i}`, shortName: `new${i}` }],
    held: heldBy('user_account', 'bot_owner_id = $1'),
    // Transfers the bot to the owner. The member cannot transfer it to another user.
    free: async ({ member, owner }) => {
      const { members } = await owner.ok('GET', '/users');
      const { user_id: bot } = members.find((user: { bot_owner_id: number }) => user.bot_owner_id === member.id);
      await owner.ok('PATCH', `/bots/${bot}`, { bot_owner_id: owner.id });
    },
  },
  user_groups_per_user: {
    ...groups,
    fill: ({ sql }) => sql(groups.fill('$2'), 200),
    held: heldBy('user_group', 'creator_id = $1'),
    free: "DELETE FROM user_group WHERE realm_id = $1 AND creator_id = $2 AND name = 'group 1'",
  },
  user_groups: {
    ...groups,
    fill: ({ sql }) => sql(groups.fill('NULL'), 2_500),
    held: heldBy('user_group', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
    free: "DELETE FROM user_group WHERE realm_id = $1 AND name = 'group 1'",
  },
  channels_per_user: {
    ...channels,
    fill: ({ sql }) => sql(channels.fill('$2'), 1_000),
    held: heldBy('channel', 'creator_id = $1'),
    free: "DELETE FROM channel WHERE realm_id = $1 AND creator_id = $2 AND name = 'channel 1'",
  },
  channels: {
    ...channels,
    // The organization has one channel already.
    fill: ({ sql }) => sql(channels.fill('NULL'), 4_999),
    held: heldBy('channel', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
    free: "DELETE FROM channel WHERE realm_id = $1 AND name = 'channel 1'",
  },
  channel_folders: {
    fill: ({ sql }) =>
      sql(`INSERT INTO channel_folder (realm_id, name, is_archived)
      SELECT $1, 'folder ' || n, true FROM generate_series(1, 1000) AS n`),
    rest: ({ owner }, i) => owner.rest('POST', '/channel_folders/create', { name: `new ${i}`, description: '' }),
    graphql: (_, i) => ['createChannelFolder', { name: `new ${i}`, description: '' }],
    held: heldBy('channel_folder', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
    free: "DELETE FROM channel_folder WHERE realm_id = $1 AND name = 'folder 1'",
  },
  custom_emoji_per_user: {
    ...emoji,
    fill: ({ sql }) => sql(emoji.fill('$2'), 500),
    held: heldBy('custom_emoji', 'author_id = $1'),
    free: "DELETE FROM custom_emoji WHERE realm_id = $1 AND author_id = $2 AND name = 'emoji1'",
  },
  custom_emoji: {
    ...emoji,
    fill: ({ sql }) => sql(emoji.fill('NULL'), 5_000),
    held: heldBy('custom_emoji', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
    free: "DELETE FROM custom_emoji WHERE realm_id = $1 AND name = 'emoji1'",
  },
  custom_profile_fields: {
    fill: ({ sql }) =>
      sql(`INSERT INTO profile_field (realm_id, type, position, name)
      SELECT $1, 1, n, 'field ' || n FROM generate_series(1, 100) AS n`),
    rest: ({ owner }, i) => owner.rest('POST', '/realm/profile_fields', { field_type: 1, name: `new ${i}` }),
    graphql: (_, i) => ['createCustomProfileField', { type: 'SHORT_TEXT', name: `new ${i}` }],
    held: heldBy('profile_field', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
    free: async ({ owner }) => {
      const { custom_fields } = await owner.ok('GET', '/realm/profile_fields');
      await owner.ok('DELETE', `/realm/profile_fields/${custom_fields[0].id}`);
    },
  },
  realm_domains: {
    fill: ({ sql }) =>
      sql(`INSERT INTO realm_domain (realm_id, domain, allow_subdomains)
      SELECT $1, 'd' || n || '.example', false FROM generate_series(1, 1000) AS n`),
    rest: ({ owner }, i) =>
      owner.rest('POST', '/realm/domains', { domain: `new${i}.example`, allow_subdomains: false }),
    graphql: (_, i) => ['addRealmDomain', { domain: `new${i}.example`, allowSubdomains: false }],
    held: heldBy('realm_domain', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
    free: ({ owner }) => owner.ok('DELETE', '/realm/domains/d1.example'),
  },
  reactions_per_user_and_message: {
    ...reactions,
    fill: ({ sql, messageId, member }) => sql(reactions.fill, messageId, [member.id]),
    held: heldBy('reaction', 'user_id = $1'),
    free: ({ member, messageId }) =>
      member.ok('DELETE', `/messages/${messageId}/reactions`, {
        ...{ emoji_code: `${member.id}-1`, reaction_type: 'unicode_emoji' },
      }),
  },
  reactions_per_message: {
    ...reactions,
    fill: ({ sql, messageId }) =>
      sql(
        `, crowd AS (
           INSERT INTO user_account (realm_id, email, full_name)
           SELECT $1, 'crowd' || n || '@example.com', 'crowd ' || n FROM generate_series(1, 100) AS n RETURNING id)
         INSERT INTO reaction (realm_id, message_id, user_id, emoji_name, emoji_code, reaction_type)
         SELECT $1, $3::bigint, crowd.id, 'x', 'c' || e, 'unicode_emoji' FROM crowd, generate_series(1, 50) AS e`,
        messageId,
      ),
    held: heldBy('reaction', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
    free: `DELETE FROM reaction WHERE realm_id = $1 AND id = (SELECT max(id) FROM reaction WHERE realm_id = $1)`,
  },
  emoji_per_message: {
    ...reactions,
    fill: ({ sql, messageId, owner, administrator, moderator, guest }) =>
      sql(reactions.fill, messageId, [owner.id, administrator.id, moderator.id, guest.id]),
    held: heldBy('reaction', 'realm_id = (SELECT realm_id FROM user_account WHERE id = $1)'),
    free: ({ owner, messageId }) =>
      owner.ok('DELETE', `/messages/${messageId}/reactions`, {
        ...{ emoji_code: `${owner.id}-1`, reaction_type: 'unicode_emoji' },
      }),
  },
};

/** Kinds of objects that the organization's owner adds. The member adds all others. */
const OF_OWNER = ['channel_folders', 'custom_profile_fields', 'realm_domains'];
export const adderOf = (name: string, { owner, member }: Hoard): Person => (OF_OWNER.includes(name) ? owner : member);
