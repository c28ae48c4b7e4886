import { beforeAll, describe, expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// Compares lists of channels, which SQL filters and pages, with the same viewer's access to each channel one by one.

const VIEWERS = ['owner', 'administrator', 'moderator', 'member', 'guest', 'other'] as const;

let people: Organization & { readonly other: Organization['member'] };
const channelIds: number[] = [];

beforeAll(async () => {
  people = await createOrganization({ other: 'member' });
  const { owner, administrator, moderator, member, guest, other } = people;
  await owner.ok('PATCH', '/realm', { enable_spectator_access: true });
  const group = async (name: string, members: readonly number[], subgroups: readonly number[] = []): Promise<number> =>
    (await owner.ok('POST', '/user_groups/create', { name, description: '', members, subgroups })).group_id;
  const inner = await group('inner', [other.id]);
  const outer = await group('outer', [], [inner]);
  const all: Json[] = (await owner.ok('GET', '/user_groups')).user_groups;
  const moderators = all.find(({ name }) => name === 'role:moderators')?.id;
  const holders = (members: readonly number[], groups: readonly number[] = []) => ({
    direct_members: members,
    direct_subgroups: groups,
  });
  const noHolders = holders([]);
  const secret = { invite_only: true, can_administer_channel_group: noHolders };
  const create = async (name: string, settings: Json, subscribers: readonly number[] = [owner.id], by = owner) => {
    const { id } = await by.ok('POST', '/channels/create', { name, subscribers, ...settings });
    channelIds.push(id);
    return id;
  };
  await create('public', {});
  await create('public with members', {}, [member.id, guest.id]);
  await create('web-public', { is_web_public: true });
  await create('secret', secret);
  await create('secret with members', secret, [member.id, guest.id]);
  await create('secret to subscribe', { ...secret, can_subscribe_group: holders([other.id, guest.id]) });
  await create('secret to subscribe for a nested group', { ...secret, can_subscribe_group: outer });
  await create('secret to add', { ...secret, can_add_subscribers_group: moderators });
  await create('secret to administer', { invite_only: true, can_administer_channel_group: holders([], [inner]) });
  await create('secret of a creator who left', { invite_only: true }, [member.id, other.id], member);
  await member.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['secret of a creator who left'] });
  const archived = await create('archived', {}, [owner.id, administrator.id, moderator.id]);
  await owner.ok('DELETE', `/streams/${archived}`);
});

const LIST = `query ($isSubscribed: Boolean, $onlyReadable: Boolean, $privacy: [ChannelPrivacy!], $includeArchived: Boolean) {
  channels(first: 100, isSubscribed: $isSubscribed, onlyReadable: $onlyReadable, privacy: $privacy,
    includeArchived: $includeArchived) { totalCount nodes { databaseId name } } }`;
const ONE = 'databaseId name privacy isArchived viewerCanSubscribe ownSubscription { id }';

interface Seen {
  readonly databaseId: number;
  readonly name: string;
  readonly privacy: string;
  readonly isArchived: boolean;
  readonly viewerCanSubscribe: boolean;
  readonly ownSubscription: unknown;
}

const PRIVATE = ['PRIVATE', 'PRIVATE_SHARED_HISTORY'];
const isPrivate = ({ privacy }: Seen) => PRIVATE.includes(privacy);

const FILTERS: readonly (readonly [string, Readonly<Record<string, unknown>>, (channel: Seen) => boolean])[] = [
  ['all channels', {}, () => true],
  ['those to which they are subscribed', { isSubscribed: true }, ({ ownSubscription }) => ownSubscription !== null],
  ['the others', { isSubscribed: false }, ({ ownSubscription }) => ownSubscription === null],
  ['readable ones', { onlyReadable: true }, ({ viewerCanSubscribe }) => viewerCanSubscribe],
  ['private ones', { privacy: PRIVATE }, isPrivate],
  ['web-public ones', { privacy: ['WEB_PUBLIC'] }, ({ privacy }) => privacy === 'WEB_PUBLIC'],
  [
    'readable private ones',
    { onlyReadable: true, privacy: PRIVATE },
    (one) => isPrivate(one) && one.viewerCanSubscribe,
  ],
];

describe.for(VIEWERS)('%s', (name) => {
  /** Reads each channel by itself. Channels that the viewer cannot see are left out. */
  async function seen(): Promise<Seen[]> {
    const fields = channelIds.map((id, i) => `c${i}: channel(by: { id: "${globalId('Channel', id)}" }) { ${ONE} }`);
    const found = Object.values<Json>(await people[name].query(`{ ${fields.join(' ')} }`));
    return found.filter((one) => one !== null) as Seen[];
  }

  test.for(FILTERS)('lists and counts %s as they are seen one by one', async ([, filter, matches]) => {
    for (const includeArchived of [false, true]) {
      const { channels } = await people[name].query(LIST, { ...filter, includeArchived });
      const own = channels.nodes.filter(({ databaseId }: Json) => channelIds.includes(databaseId));
      const expected = (await seen()).filter((one) => (includeArchived || !one.isArchived) && matches(one));
      expect(own.map((one: Json) => one.name)).toEqual(expected.map((one) => one.name).toSorted());
      expect(channels.totalCount).toBe(channels.nodes.length);
    }
  });

  test('lists and counts the channels of other users as far as they are visible', async () => {
    const visible = new Set((await seen()).filter(({ isArchived }) => !isArchived).map(({ databaseId }) => databaseId));
    for (const user of [people.owner, people.member, people.guest]) {
      const id = globalId('User', user.id);
      const page = 'channels(first: 100) { totalCount nodes { databaseId } }';
      const { channels } = (await people[name].query(`{ node(id: "${id}") { ... on User { ${page} } } }`)).node;
      const ids = channels.nodes.map(({ databaseId }: Json) => databaseId);
      const { subscribed_channel_ids: expected } = await people.owner.ok('GET', `/users/${user.id}/channels`);
      expect(ids.filter((one: number) => channelIds.includes(one))).toEqual(
        expected.filter((one: number) => visible.has(one)),
      );
      expect(channels.totalCount).toBe(ids.length);
    }
  });
});
