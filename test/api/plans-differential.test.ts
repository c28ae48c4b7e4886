import { parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Comparison,
  compareRandomQueries,
  executeByPlan,
  executeForAll,
  executeGenerally,
  type Operation,
  planOf,
  startComparison,
} from '../helpers/executor-comparison.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Visitor } from '../helpers/person.ts';
import { authenticated } from '../helpers/populated-demo.ts';

// Executes queries on the schema of the service by plans and by graphql-js, over the same data, and compares the results.
// `random-queries.test.ts` compares 2,000 random queries.

let comparison: Comparison;
beforeAll(async () => {
  comparison = await startComparison();
});
afterAll(() => comparison[Symbol.asyncDispose]());

/** Authenticates visitors again, as each request does. */
const signedInAgain = (visitors: readonly Visitor[]) =>
  Promise.all(visitors.map((visitor) => authenticated(comparison.demo, visitor)));

/** A query whose result differs for each viewer: what the viewer is, can see and can do. */
const VIEW = parse(`query View($channel: ID!, $first: Int = 10, $details: Boolean!) {
  viewer { id fullName role unreadCounts { total } }
  organization { name viewerCanEdit viewerCanCreatePublicChannels viewerCanCreateUserGroups viewerCanCreateBots }
  channels(first: $first) { totalCount nodes {
    name ...Rights subscribers(first: 3) @include(if: $details) { totalCount nodes { ...Person } }
    topics(first: 2) { nodes { name unreadCount lastMessage { ...Said } } }
  } }
  channel(by: { id: $channel }) { id name ...Rights messages(last: 5) { nodes { ...Said } } }
  messages(last: 8) { nodes { ...Said topicName channel { name } reactionGroups { emojiName count viewerHasReacted } } }
  users(first: 20) { nodes { ...Person isActive role status { text } } }
  again: users(first: 20) @skip(if: $details) { nodes { id } }
}
fragment Rights on Channel { privacy viewerCanPost viewerCanSubscribe viewerCanAdminister viewerCanAddSubscribers }
fragment Person on User { fullName email deliveryEmail viewerCanEdit viewerCanDeactivate }
fragment Said on Message { content viewerCanEdit viewerCanDelete viewerHasRead sender { ...Person } }`);

const viewOf = (channelId: number, details = true): Operation => ({
  document: VIEW,
  variableValues: { channel: globalId('Channel', channelId), details },
});

describe('plans and graphql-js', () => {
  test('give the same results of random queries to eight viewers', async () => {
    const { differences, planned, varied, repeated, codes } = await compareRandomQueries(comparison, 60);
    expect(differences).toEqual([]);
    // Most queries must be executed by plans, show each viewer something else, and contain a field that fails.
    expect(planned).toBeGreaterThan(40);
    expect(varied).toBeGreaterThan(20);
    expect(repeated).toBeGreaterThan(5);
    expect(codes.get('BAD_REQUEST')).toBeGreaterThan(5);
  });

  test('give the same results of one document to ten concurrent viewers', async () => {
    const { demo } = comparison;
    const visitors: Visitor[] = [...Object.values(demo.people), demo.foreigner, demo.anonymous];
    const requests = await signedInAgain(visitors);
    expect(requests).toHaveLength(10);
    for (const details of [true, false]) {
      const operation = viewOf(demo.channels.secret, details);
      expect(planOf(operation)).toBeDefined();
      const alone = [];
      for (const request of requests) alone.push(...(await executeForAll(executeGenerally, operation, [request])));
      expect(new Set(alone.map(({ text }) => text)).size).toBe(10);
      // The viewers begin in another order each time.
      for (const start of [0, 3, 7]) {
        const turned = <T>(all: readonly T[]): T[] => [...all.slice(start), ...all.slice(0, start)];
        expect(await executeForAll(executeByPlan, operation, turned(requests))).toEqual(turned(alone));
      }
    }
  });

  test('give the same results after the rights of a viewer have changed', async () => {
    const { demo, viewers } = comparison;
    const { iris, bela, dana, gus, mona } = demo.people;
    const { general, secret, later } = demo.channels;
    const shownTo = { ...viewers, other: dana };
    const names = Object.keys(shownTo);
    const subscriptions = (name: string, who: { readonly id: number }) => ({
      subscriptions: [{ name }],
      principals: [who.id],
    });
    const none = { direct_members: [], direct_subgroups: [] };
    /** For each change: the channel that the documents read, the viewers whose results must change, and the change. */
    const changes: Readonly<Record<string, readonly [number, readonly string[], () => Promise<unknown>]>> = {
      'a guest joins a private channel': [
        ...([secret, ['guest']] as const),
        () => iris.ok('POST', '/users/me/subscriptions', subscriptions('secret', gus)),
      ],
      'the guest is removed from it': [
        ...([secret, ['guest']] as const),
        () => iris.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['secret'], principals: [gus.id] }),
      ],
      'a member is removed from a private channel': [
        ...([secret, ['member']] as const),
        () => iris.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['secret'], principals: [bela.id] }),
      ],
      'a member becomes an administrator': [
        ...([general, ['member']] as const),
        () => iris.ok('PATCH', `/users/${bela.id}`, { role: 200 }),
      ],
      'the administrator becomes a guest': [
        ...([general, ['member']] as const),
        () => iris.ok('PATCH', `/users/${bela.id}`, { role: 600 }),
      ],
      'a user hides their email address': [
        ...([general, ['guest', 'member', 'other']] as const),
        () => mona.ok('PATCH', '/settings', { email_address_visibility: 4 }),
      ],
      'a channel gets more senders': [
        ...([later, ['other']] as const),
        () =>
          iris.ok('PATCH', `/streams/${later}`, {
            can_send_message_group: { new: { ...none, direct_members: [iris.id, mona.id, dana.id] } },
          }),
      ],
      'a public channel becomes private': [
        ...([general, ['administrator']] as const),
        async () => {
          await demo.people.aaron.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['general'] });
          await iris.ok('PATCH', `/streams/${general}`, { is_private: true });
        },
      ],
      'members can no longer create channels': [
        ...([general, ['other']] as const),
        () => iris.ok('PATCH', '/realm', { can_create_public_channel_group: { new: none } }),
      ],
    };
    const resultsOf = async (channelId: number) => {
      const requests = await signedInAgain(Object.values(shownTo));
      const operation = viewOf(channelId);
      const planned = await executeForAll(executeByPlan, operation, requests);
      expect(planned).toEqual(await executeForAll(executeGenerally, operation, requests));
      return Object.fromEntries(planned.map(({ text }, i) => [names[i], text]));
    };
    /** The results after the previous change, by the id of the channel that the documents read. */
    let last: Readonly<Record<number, Awaited<ReturnType<typeof resultsOf>>>> = {};
    for (const [change, [channelId, affected, make]] of Object.entries(changes)) {
      const before = last[channelId] ?? (await resultsOf(channelId));
      await make();
      const after = await resultsOf(channelId);
      for (const name of affected) expect(after[name], `${change}, shown to ${name}`).not.toBe(before[name]);
      last = { [channelId]: after };
    }
    await iris.ok('DELETE', `/users/${dana.id}`);
    await expect(authenticated(demo, dana)).rejects.toThrow('Account is deactivated');
  });
});
