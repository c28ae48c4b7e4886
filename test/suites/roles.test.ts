import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Integrated, startIntegrated } from '../helpers/integrations.ts';
import type { Method, Parameters, Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { startService } from '../helpers/service.ts';
import { channelOf, say } from '../helpers/talk.ts';
import { ENDPOINTS, type EndpointName, isIntegrated } from '../helpers/the-22.ts';

// Tests which users can call each endpoint of test/interface, and with which error all others are refused.

const CALLERS = ['owner', 'administrator', 'moderator', 'member', 'guest', 'bot', 'anonymous'] as const;
type Caller = (typeof CALLERS)[number];

const YES = 'success';
/** Result of a call that is refused because of the caller's role: "Administrators only" and similar. */
const ROLE = '400 UNAUTHORIZED_PRINCIPAL';
/** Result of a call that is refused because of the object that it names, or because the caller is a bot. */
const NOT = '400 BAD_REQUEST';
const WHO = '401 UNAUTHORIZED';
const FAIL = '401 AUTHENTICATION_FAILED';

/**
 * Expected results by endpoint, in the order of CALLERS. The bot has the role of a member. Anonymous calls have no credentials.
 */
const TABLE: Readonly<Record<EndpointName, readonly string[]>> = {
  //                                            owner  admin  mod    member guest  bot    anonymous
  'POST /scheduled_messages': /*             */ [YES, YES, YES, YES, YES, YES, WHO],
  'POST /users/me/subscriptions/properties': /**/ [YES, YES, YES, YES, YES, YES, WHO],
  'GET /events': /*                          */ [YES, YES, YES, YES, YES, YES, WHO],
  'PATCH /channel_folders/{channel_folder_id}': [YES, YES, ROLE, ROLE, ROLE, ROLE, WHO],
  'GET /users/{user_id}': /*                 */ [YES, YES, YES, YES, YES, YES, WHO],
  'POST /users/{user_id}/status': /*         */ [YES, YES, NOT, NOT, NOT, NOT, WHO],
  'POST /users/me/status': /*                */ [YES, YES, YES, YES, YES, NOT, WHO],
  'POST /drafts': /*                         */ [YES, YES, YES, YES, YES, YES, WHO],
  'POST /jwt/fetch_api_key': /*              */ [YES, YES, YES, YES, YES, FAIL, FAIL],
  'POST /messages/{message_id}/report': /*   */ [YES, YES, YES, YES, YES, YES, WHO],
  'GET /messages/{message_id}/history': /*   */ [YES, YES, YES, YES, YES, YES, WHO],
  'PATCH /users/me/profile_data': /*         */ [YES, YES, YES, YES, YES, NOT, WHO],
  'POST /mark_topic_as_read': /*             */ [YES, YES, YES, YES, YES, YES, WHO],
  'DELETE /users/{user_id}': /*              */ [YES, YES, NOT, NOT, NOT, NOT, WHO],
  'GET /users/me/{stream_id}/topics': /*     */ [YES, YES, YES, YES, YES, YES, WHO],
  'POST /messages/{message_id}/typing': /*   */ [YES, YES, YES, YES, YES, YES, WHO],
  'POST /navigation_views': /*               */ [YES, YES, YES, YES, YES, YES, WHO],
  'PATCH /saved_snippets/{saved_snippet_id}': [YES, YES, YES, YES, YES, YES, WHO],
  'POST /user_groups/{user_group_id}/subgroups': [YES, YES, YES, YES, ROLE, YES, WHO],
  'PATCH /realm/domains/{domain}': /*        */ [YES, ROLE, ROLE, ROLE, ROLE, ROLE, WHO],
  'POST /calls/videoprovider/create': /*     */ [YES, YES, YES, YES, YES, YES, WHO],
  'GET /server_settings': /*                 */ [YES, YES, YES, YES, YES, YES, YES],
};

/** An organization with a channel to which all users are subscribed, and a message of the owner in it. */
interface World extends Organization {
  readonly channel: number;
  readonly message: number;
  readonly integrated: Integrated;
}

/** The caller, and the user whose objects a call concerns. Anonymous calls concern the objects of the owner. */
interface By {
  readonly caller: Caller;
  readonly self: Person;
}

type Call = (world: World, by: By) => Promise<Parameters> | Parameters;
const LATER = { scheduled_delivery_timestamp: 4_102_444_800 };

/** Parameters of a call that can fail only because of the caller's role. "slot" is the value of the path slot. */
const CALLS: Readonly<Record<EndpointName, Call>> = {
  'POST /scheduled_messages': ({ channel }) => ({ type: 'channel', to: channel, topic: 't', content: 'c', ...LATER }),
  'POST /users/me/subscriptions/properties': ({ channel }) => ({
    subscription_data: [{ stream_id: channel, property: 'pin_to_top', value: true }],
  }),
  'GET /events': () => ({ dont_block: true }),
  'PATCH /channel_folders/{channel_folder_id}': async ({ owner }, { caller }) => {
    const folder = { name: `for the ${caller}`, description: '' };
    const { channel_folder_id } = await owner.ok('POST', '/channel_folders/create', folder);
    return { slot: channel_folder_id, description: 'changed' };
  },
  'GET /users/{user_id}': ({ moderator }) => ({ slot: moderator.id }),
  'POST /users/{user_id}/status': async ({ signUp }, { caller }) => ({
    slot: (await signUp(`target of the ${caller}`)).id,
    status_text: 'set',
  }),
  'POST /users/me/status': () => ({ status_text: 'set' }),
  'POST /drafts': () => ({ drafts: [{ type: '', to: [], topic: '', content: 'note' }] }),
  'POST /jwt/fetch_api_key': async ({ integrated }, { caller, self }) => ({
    token: await integrated.tokenOf({ email: caller === 'anonymous' ? 'nobody@nowhere.example' : self.email }),
  }),
  'POST /messages/{message_id}/report': ({ message }) => ({ slot: message, report_type: 'spam' }),
  'GET /messages/{message_id}/history': ({ message }) => ({ slot: message }),
  'PATCH /users/me/profile_data': async ({ owner }, { caller }) => {
    const field = { field_type: 1, name: `of the ${caller}` };
    const { id } = await owner.ok('POST', '/realm/profile_fields', field);
    return { data: [{ id, value: 'at sea' }] };
  },
  'POST /mark_topic_as_read': ({ channel }) => ({ stream_id: channel, topic_name: 'topic' }),
  'DELETE /users/{user_id}': async ({ signUp }, { caller }) => ({ slot: (await signUp(`target of the ${caller}`)).id }),
  'GET /users/me/{stream_id}/topics': ({ channel }) => ({ slot: channel }),
  'POST /messages/{message_id}/typing': async ({ channel }, { self }) => ({
    slot: await say(self, channel, 'topic'),
    op: 'start',
  }),
  'POST /navigation_views': () => ({ fragment: 'inbox', is_pinned: true }),
  'PATCH /saved_snippets/{saved_snippet_id}': async (_, { self }) => {
    const { saved_snippet_id } = await self.ok('POST', '/saved_snippets', { title: 't', content: 'c' });
    return { slot: saved_snippet_id, title: 'changed' };
  },
  'POST /user_groups/{user_group_id}/subgroups': async ({ owner }, { caller }) => {
    const { realm_can_create_groups: members } = await owner.register({ fetch_event_types: ['realm'] });
    const group = { name: `for the ${caller}`, description: '', members: [], can_manage_group: members };
    const { group_id } = await owner.ok('POST', '/user_groups/create', group);
    return { slot: group_id, add: [members] };
  },
  'PATCH /realm/domains/{domain}': async ({ owner }, { caller }) => {
    const domain = `${caller}.example`;
    await owner.ok('POST', '/realm/domains', { domain, allow_subdomains: false });
    return { slot: domain, allow_subdomains: true };
  },
  'POST /calls/videoprovider/create': async ({ integrated }, { self }) => {
    await integrated.allowCalls(self);
    return {};
  },
  'GET /server_settings': () => ({}),
};

let integrated: Integrated;
beforeAll(async () => {
  integrated = await startIntegrated(startService);
});
afterAll(() => integrated[Symbol.asyncDispose]());

async function makeWorld(name: string): Promise<World> {
  const house = isIntegrated(name) ? integrated.house : await createOrganization();
  const { owner, administrator, moderator, member, guest, bot } = house;
  const everybody = [owner, administrator, moderator, member, guest, bot];
  const channel = await channelOf(owner, `for ${name}`, everybody, { invite_only: true });
  await owner.ok('PATCH', '/realm', { moderation_request_channel_id: channel });
  return { ...house, channel, message: await say(owner, channel, 'topic'), integrated };
}

describe.concurrent('roles that can call', () => {
  test.for(ENDPOINTS)('%s', async (name) => {
    const world = await makeWorld(name);
    const [method, path] = name.split(' ') as [Method, string];
    const outcomes: string[] = [];
    for (const caller of CALLERS) {
      const self = caller === 'anonymous' ? world.owner : world[caller];
      const { slot, ...parameters } = await CALLS[name](world, { caller, self });
      const visitor = name === 'POST /jwt/fetch_api_key' ? world.anonymous : world[caller];
      const { status, body } = await visitor.rest(method, path.replace(/\{\w+\}/, String(slot)), parameters);
      outcomes.push(status === 200 ? YES : `${status} ${body.code ?? body.msg}`);
    }
    const table = (row: readonly string[]) => Object.fromEntries(CALLERS.map((caller, i) => [caller, row[i]]));
    expect(table(outcomes)).toEqual(table(TABLE[name]));
  });
});
