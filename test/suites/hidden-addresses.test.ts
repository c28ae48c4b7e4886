import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EMAIL_VISIBILITIES } from '../../src/access/user-settings.ts';
import { OPERATORS } from '../../src/messages/narrow/narrow-operators.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { comparable, leavesOf, type Outcome } from '../helpers/alike.ts';
import { documentOf, GRAPHQL_CALLS, type GraphQLCall } from '../helpers/graphql-calls.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Method, Person } from '../helpers/person.ts';
import { pathOf, REST_CALLS, type RestCall } from '../helpers/rest-calls.ts';
import { makeScene, type Names, type Scene } from '../helpers/scene.ts';
import { ROLES, type RoleName } from '../helpers/server.ts';

// Tests that clients cannot detect hidden email addresses. Wherever a client can send an email address, a hidden address has
// the result of an unused address.

const schema = buildSchema();

/**
 * The calls of an endpoint or root field. They are created again for each attempt, because some create objects with unique
 * names.
 */
interface Calls {
  readonly name: string;
  readonly make: (names: Names) => readonly (RestCall | GraphQLCall)[];
  readonly send: (who: Person, call: never) => Promise<Outcome>;
}

const restCalls = (name: string, make: Calls['make'], endpoint = name): Calls => {
  const [method, path] = endpoint.split(' ') as [Method, string];
  return { name, make, send: (who, call: RestCall) => who.rest(method, pathOf(path, call), call.parameters) };
};

const CALLS: readonly Calls[] = [
  ...Object.entries(REST_CALLS).map(([name, make]) => restCalls(name, make)),
  ...Object.keys(OPERATORS).map((operator) => {
    const call = { parameters: { anchor: 'newest', num_before: 1, narrow: [[operator, 'x']] } };
    return restCalls(`GET /messages by ${operator}`, () => [call], 'GET /messages');
  }),
  ...Object.entries(GRAPHQL_CALLS).map(([name, make]): Calls => {
    const send = async (who: Person, call: GraphQLCall) => {
      const { status, data, errors } = await who.graphql(documentOf(schema, call), call.args);
      return { status, body: { data, errors } };
    };
    return { name, make, send };
  }),
];

/** One string or number in a call that can be replaced with an address. */
interface ReplaceableValue {
  readonly name: string;
  /** Makes the call with this address. @returns The outcome as text, without addresses. */
  try(scene: Scene, who: Person, address: string): Promise<string>;
}

/**
 * Returns every string in a call that can be replaced with an email address. In REST calls, also numbers, because the schema
 * does not check the type of some parameters, such as `principals`.
 */
function replaceableValuesIn({ name, make, send }: Calls, names: Names): ReplaceableValue[] {
  const seen = new Set<string>();
  // Omits calls of other users. Made as the owner, one of them would replace the owner's API key.
  const isOwners = (call: object) => !('as' in call) || call.as === undefined;
  return make(names).flatMap((call, i) =>
    (isOwners(call) ? leavesOf(call) : []).flatMap(({ place, leaf }, k) => {
      if (seen.has(place)) return [];
      seen.add(place);
      if (!/^\.(slots|parameters|args)\b/.test(place) || ('args' in call && typeof leaf === 'number')) return [];
      const put = (scene: Scene, address: string) => leavesOf(make(scene.names)[i])[k]?.with(address) as never;
      const tried = async (scene: Scene, who: Person, address: string) =>
        withoutAddresses(await send(who, put(scene, address)));
      return [{ name: `${name}: ${place.replace(/^\.\w+\./, '')}`, try: tried }];
    }),
  );
}

const ADDRESS = /,"person(\d+|<made>)@example\.org"|"person(\d+|<made>)@example\.org",|person\d+(@|%40)example\.org/gi;

/**
 * Returns the outcome of a call as text without addresses. It can contain addresses that were sent with this and earlier calls.
 */
const withoutAddresses = (outcome: Outcome): string => comparable(outcome).replaceAll(ADDRESS, '');

/**
 * Values in calls that reveal whether an address is in use, because addresses are unique. Only administrators whom the operator
 * has permitted to create users or to change their addresses can send these values.
 */
const REVEAL_TAKEN_ADDRESSES = [
  'POST /users: email',
  'PATCH /users/{user_id}: new_email',
  'Mutation.createUser: input.email',
  'Mutation.updateUser: input.newEmail',
];

/**
 * All other values in calls that can be the address of a user, to identify the user. A user can request a change of their own
 * address only twice an hour, which a later test covers.
 */
const TAKES_ADDRESS = [
  'DELETE /users/me/subscriptions: principals.0',
  'GET /messages by dm-including: narrow.0.1',
  'GET /messages by dm: narrow.0.1',
  'GET /messages by group-pm-with: narrow.0.1',
  'GET /messages by mentions: narrow.0.1',
  'GET /messages by sender: narrow.0.1',
  'GET /users/{email}/presence: email',
  'GET /users/{email}: email',
  'GET /users/{user_id}/presence: user_id',
  'GET /users/{user_id}: user_id',
  'Mutation.inviteUsers: input.emails.0',
  'PATCH /users/{email}: email',
  'PATCH /users/{user_id}: user_id',
  'POST /invites: invitee_emails',
  'POST /messages: to.0',
  'POST /users/me/subscriptions: principals.0',
  'Query.user: by.email',
];

let service: InProcess;
let scene: Scene;
let made = 0;
/** Creates another user on each call, because some actions on an address are possible only once. */
const newUser = ({ organization }: Scene, visibility: number) =>
  service.app.db.user.create({
    data: {
      ...{ organizationId: organization.id, email: `Person${++made}@example.org`, fullName: 'Somebody' },
      settings: { email_address_visibility: visibility },
    },
  });
const unusedAddress = () => `Person${++made}@example.org`;

/** Values in calls for which a visible address has another result than an unused address. */
const accepting: ReplaceableValue[] = [];

/**
 * Returns whether a call with this address has another result than the same call with an unused address. The unused address is
 * tried before and after, because some calls remove the object that they find.
 */
async function isRevealed(place: ReplaceableValue, at: Scene, who: Person, address: string): Promise<boolean> {
  const before = await place.try(at, who, unusedAddress());
  const found = await place.try(at, who, address);
  return found !== before && found !== (await place.try(at, who, unusedAddress()));
}

describe('addresses', () => {
  beforeAll(async () => {
    service = await shareInProcess({ counts: true });
    scene = await makeScene({ on: service });
  });
  afterAll(() => service[Symbol.asyncDispose]());

  describe('a hidden address behaves like an unknown one in every parameter', () => {
    // In the order of `CALLS`, each call can succeed.
    test.for(CALLS.map((calls) => [calls.name, calls] as const))('in %s', async ([, calls]) => {
      for (const place of replaceableValuesIn(calls, scene.names)) {
        const isHiddenRevealed = await isRevealed(place, scene, scene.owner, (await newUser(scene, 4)).email);
        if (!REVEAL_TAKEN_ADDRESSES.includes(place.name)) expect(isHiddenRevealed, place.name).toBe(false);
        if (await isRevealed(place, scene, scene.owner, (await newUser(scene, 1)).email)) accepting.push(place);
      }
    });

    test('and these are the places that accept an address', () => {
      const names = [...new Set(accepting.map(({ name }) => name))];
      expect(names.toSorted()).toEqual([...TAKES_ADDRESS, ...REVEAL_TAKEN_ADDRESSES].toSorted());
    });
  });

  const ROLE_NAMES = Object.keys(ROLES) as RoleName[];
  /** Highest role number that can see an address, by the value of the visibility setting. Lower numbers have more rights. */
  const SEEN_UP_TO = { 1: 600, 2: 400, 5: 300, 3: 200, 4: 0 } as const;
  const MATRIX = ROLE_NAMES.flatMap((role) => EMAIL_VISIBILITIES.map((visibility) => [role, visibility] as const));

  describe('an address is hidden by the visibility setting of its user, at each of these places', () => {
    let matrix: Scene;
    beforeAll(async () => {
      matrix = await makeScene({ on: service });
    });

    test.for(MATRIX)('from %s if the visibility is %i', async ([role, visibility]) => {
      const [who, { id, email }] = [matrix[role], await newUser(matrix, visibility)];
      const isSeen = ROLES[role] <= SEEN_UP_TO[visibility];
      const found = await who.rest('GET', `/users/${encodeURIComponent(email)}`);
      expect([found.status, found.body.user?.user_id]).toEqual(isSeen ? [200, id] : [400, undefined]);
      const standIn = await who.rest('GET', `/users/user${id}@users.invalid`);
      expect(standIn.body.user).toMatchObject({ user_id: id, delivery_email: isSeen ? email : null });
      const asker = await matrix.signUp(`asker ${++made}`, role);
      const wanted = (address: string) => asker.rest('PATCH', '/settings', { email: address });
      const [ofTheirs, ofUnused] = [await wanted(email), await wanted(unusedAddress())];
      expect(ofTheirs.body.msg).toBe(isSeen ? 'Email is already in use.' : '');
      if (isSeen) return;
      expect([ofTheirs.status, ofTheirs.body]).toEqual([ofUnused.status, ofUnused.body]);
      for (const place of accepting.filter(({ name }) => !REVEAL_TAKEN_ADDRESSES.includes(name))) {
        expect(await isRevealed(place, matrix, who, email), place.name).toBe(false);
      }
    });
  });

  test('a hidden address takes the same queries as an unused one, also to sign in', async () => {
    const { owner, guest, anonymous } = scene;
    const asks: ((address: string) => Promise<{ status: number }>)[] = [
      (address) => guest.rest('GET', `/users/${address}`),
      (address) => guest.rest('GET', '/messages', { anchor: 'newest', narrow: [['sender', address]] }),
      (address) => guest.rest('POST', '/messages', { type: 'direct', to: [address], content: 'hello' }),
      (address) => {
        const subscriptions = [{ name: `Channel ${++made}` }];
        return owner.rest('POST', '/users/me/subscriptions', { subscriptions, principals: [address] });
      },
      (address) => anonymous.rest('POST', '/fetch_api_key', { username: address, password: 'not theirs' }),
    ];
    for (const ask of asks) {
      const queries = async (address: string) => {
        let status = 0;
        const made = await service.queriesOf(async () => {
          ({ status } = await ask(address));
        });
        // Omits the query with which the hub compares the log and its in-memory tails once a second.
        return { status, made: made.filter((sql) => !/FROM event_counter WHERE realm_id = ANY/.test(sql)) };
      };
      const ofUnused = await queries(unusedAddress());
      expect(ofUnused.status).not.toBe(200);
      expect(await queries((await newUser(scene, 4)).email)).toEqual(ofUnused);
    }
  });
});
