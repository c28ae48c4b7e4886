import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EMAIL_VISIBILITIES } from '../src/access/user-settings.ts';
import { OPERATORS } from '../src/messages/narrow/narrow-operators.ts';
import { buildSchema } from '../src/server/registries/schema.ts';
import { comparable, leavesOf, type Outcome } from './helpers/alike.ts';
import { documentOf, GRAPHQL_CALLS, type GraphQLCall } from './helpers/graphql-calls.ts';
import { type InProcess, shareInProcess } from './helpers/in-process.ts';
import { IS_WHOLE, isGroupPicked } from './helpers/part.ts';
import type { Method, Person } from './helpers/person.ts';
import { pathOf, REST_CALLS, type RestCall } from './helpers/rest-calls.ts';
import { makeScene, type Names, type Scene } from './helpers/scene.ts';
import { ROLES, type RoleName } from './helpers/server.ts';

// Whose address is hidden from somebody cannot be found out by them: wherever a client may send an address, one that is
// hidden from it and one that nobody has come to the same.

const schema = buildSchema();

/** A call of any kind, made anew each time: some make things, under names that nothing has yet. */
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

/** One text or number of one call, in whose place an address can stand. */
interface Place {
  readonly name: string;
  /** @returns What it came to, without the address. */
  try(scene: Scene, who: Person, address: string): Promise<string>;
}

/** Of a call over REST also where a number stands: of some, as `principals`, the type is not the schema's to check. */
function placesIn({ name, make, send }: Calls, names: Names): Place[] {
  const seen = new Set<string>();
  return make(names).flatMap((call, i) =>
    leavesOf(call).flatMap(({ place, leaf }, k) => {
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

/** What calls come to, whichever address was sent with them and with those before. */
const withoutAddresses = (outcome: Outcome): string => comparable(outcome, 'no name').replaceAll(ADDRESS, '');

/**
 * Where it is told that somebody has the address, because no two may have one: to administrators alone to whom the server's
 * operator gave the right to make users, or to change their addresses.
 */
const TOLD_AS_TAKEN = [
  'POST /users: email',
  'PATCH /users/{user_id}: new_email',
  'Mutation.createUser: input.email',
  'Mutation.updateUser: input.newEmail',
];

/** Everywhere else that an address says who is meant. An own new address may be asked for twice an hour: below. */
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
  'PATCH /users/{email}: email',
  'PATCH /users/{user_id}: user_id',
  'POST /messages: to.0',
  'POST /users/me/subscriptions: principals.0',
  'Query.user: by.email',
];

let service: InProcess;
let scene: Scene;
let made = 0;
/** Somebody else each time: what is done with their address may not be done with it twice. */
const somebody = ({ realm }: Scene, visibility: number) =>
  service.app.db.user.create({
    data: {
      ...{ realmId: realm.id, email: `Person${++made}@example.org`, fullName: 'Somebody' },
      settings: { email_address_visibility: visibility },
    },
  });
const addressOfNobody = () => `Person${++made}@example.org`;

/** Where an address that can be seen comes to something else than one that nobody has. */
const takers: Place[] = [];

/** @returns Whether the address comes to something else than one that nobody has; before or after: some calls end what they found. */
async function tellsApart(place: Place, at: Scene, who: Person, address: string): Promise<boolean> {
  const before = await place.try(at, who, addressOfNobody());
  const found = await place.try(at, who, address);
  return found !== before && found !== (await place.try(at, who, addressOfNobody()));
}

describe.runIf(isGroupPicked('hidden-addresses.test.ts'))('of addresses', () => {
  beforeAll(async () => {
    service = await shareInProcess({ counts: true });
    scene = await makeScene({ on: service });
  });
  afterAll(() => service[Symbol.asyncDispose]());

  describe('an address hidden from everybody is like one that nobody has, whatever it is put in place of', () => {
    // In this order each may do what it does.
    test.for(CALLS.map((calls) => [calls.name, calls] as const))('in %s', async ([, calls]) => {
      for (const place of placesIn(calls, scene.names)) {
        const isTold = await tellsApart(place, scene, scene.owner, (await somebody(scene, 4)).email);
        if (!TOLD_AS_TAKEN.includes(place.name)) expect(isTold, place.name).toBe(false);
        if (await tellsApart(place, scene, scene.owner, (await somebody(scene, 1)).email)) takers.push(place);
      }
    });

    test.runIf(IS_WHOLE)('and these are the places that take an address', () => {
      const names = [...new Set(takers.map(({ name }) => name))];
      expect(names.toSorted()).toEqual([...TAKES_ADDRESS, ...TOLD_AS_TAKEN].toSorted());
    });
  });

  const ROLE_NAMES = Object.keys(ROLES) as RoleName[];
  /** The last role that sees an address, as the numbers of roles go. */
  const SEEN_UP_TO = { 1: 600, 2: 400, 5: 300, 3: 200, 4: 0 } as const;
  const MATRIX = ROLE_NAMES.flatMap((role) => EMAIL_VISIBILITIES.map((visibility) => [role, visibility] as const));

  describe('an address is hidden as whoever has it chose, at each of these places', () => {
    let matrix: Scene;
    beforeAll(async () => {
      matrix = await makeScene({ on: service });
    });

    test.for(MATRIX)('from %s when its visibility is %i', async ([role, visibility]) => {
      const [who, { id, email }] = [matrix[role], await somebody(matrix, visibility)];
      const isSeen = ROLES[role] <= SEEN_UP_TO[visibility];
      const found = await who.rest('GET', `/users/${encodeURIComponent(email)}`);
      expect([found.status, found.body.user?.user_id]).toEqual(isSeen ? [200, id] : [400, undefined]);
      const standIn = await who.rest('GET', `/users/user${id}@users.invalid`);
      expect(standIn.body.user).toMatchObject({ user_id: id, delivery_email: isSeen ? email : null });
      const asker = await matrix.signUp(`asker ${++made}`, role);
      const wanted = (address: string) => asker.rest('PATCH', '/settings', { email: address });
      const [ofTheirs, ofNobodys] = [await wanted(email), await wanted(addressOfNobody())];
      expect(ofTheirs.body.msg).toBe(isSeen ? 'Email is already in use.' : '');
      if (isSeen) return;
      expect([ofTheirs.status, ofTheirs.body]).toEqual([ofNobodys.status, ofNobodys.body]);
      for (const place of takers.filter(({ name }) => !TOLD_AS_TAKEN.includes(name))) {
        expect(await tellsApart(place, matrix, who, email), place.name).toBe(false);
      }
    });
  });

  test('an address that is hidden takes the same queries as one that nobody has, and signing in with one too', async () => {
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
        // The hub compares its windows with the log once a second, whoever asks for what.
        return { status, made: made.filter((sql) => !/FROM event_counter WHERE realm_id = ANY/.test(sql)) };
      };
      const ofNobodys = await queries(addressOfNobody());
      expect(ofNobodys.status).not.toBe(200);
      expect(await queries((await somebody(scene, 4)).email)).toEqual(ofNobodys);
    }
  });
});
