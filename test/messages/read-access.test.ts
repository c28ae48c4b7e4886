import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

// Tests who can read messages: by type of channel, by role, and by the user's subscription now and when the message was sent.

let service: InProcess;
beforeAll(async () => {
  service = await shareInProcess();
});
afterAll(() => service[Symbol.asyncDispose]());

/**
 * Relations of a user to a channel: whether the user was subscribed when the messages were sent (`wasThere`), and whether the
 * user is subscribed now (`isThere`).
 */
const RELATIONS = {
  stayed: { wasThere: true, isThere: true },
  left: { wasThere: true, isThere: false },
  returned: { wasThere: true, isThere: true },
  joined: { wasThere: false, isThere: true },
  never: { wasThere: false, isThere: false },
} as const;
type Relation = keyof typeof RELATIONS;

const KINDS = {
  public: {},
  shared: { invite_only: true, history_public_to_subscribers: true },
  guarded: { invite_only: true, history_public_to_subscribers: false },
  web: { is_web_public: true },
  archived: {},
} as const;
type Kind = keyof typeof KINDS;
const KIND_NAMES = Object.keys(KINDS) as Kind[];

type Role = 'member' | 'guest' | 'bot' | 'administrator';

/** Returns whether a user with this role can now read a message in a channel of this kind. */
function mayRead(kind: Kind, role: Role, { wasThere, isThere }: (typeof RELATIONS)[Relation]): boolean {
  switch (kind) {
    case 'web':
      return true;
    case 'public':
    case 'archived':
      return role !== 'guest' || isThere;
    case 'shared':
      return isThere;
    case 'guarded':
      return isThere && wasThere;
  }
}

interface Reader {
  readonly person: Person;
  readonly role: Role;
  readonly relation: Relation;
}

const WORD = 'unmistakable';

test('users read exactly the messages that they can access, and recipients get message events', async () => {
  const relations = Object.keys(RELATIONS) as Relation[];
  const cast = (['member', 'guest'] as const).flatMap((role) => relations.map((relation) => ({ role, relation })));
  const people = Object.fromEntries(cast.map(({ role, relation }) => [`${relation} ${role}`, role] as const));
  const made = await createOrganization(people, { on: service });
  const { owner, bot, administrator, organization } = made;
  const settings = { enable_spectator_access: true };
  await service.app.db.organization.update({ where: { id: organization.id }, data: { settings } });
  const personOf = ({ role, relation }: (typeof cast)[number]) =>
    (made as unknown as Record<string, Person>)[`${relation} ${role}`] as Person;
  const readers: Reader[] = [
    ...cast.map((part) => ({ ...part, person: personOf(part) })),
    { person: bot, role: 'bot', relation: 'stayed' },
    { person: administrator, role: 'administrator', relation: 'never' },
  ];
  const those = (wanted: (relation: Relation) => boolean) =>
    readers.filter(({ relation }) => wanted(relation)).map(({ person }) => person.id);

  const channels = {} as Record<Kind, number>;
  for (const kind of KIND_NAMES) {
    const subscribers = [owner.id, ...those((relation) => RELATIONS[relation].wasThere)];
    channels[kind] = (await owner.ok('POST', '/channels/create', { name: kind, subscribers, ...KINDS[kind] })).id;
  }
  const queues = new Map<Reader, Json>();
  for (const reader of readers) queues.set(reader, await reader.person.register({ fetch_event_types: [] }));
  /** Reads the messages in the events of a reader's queue, from its start. */
  const told = async (reader: Reader): Promise<string[]> => {
    const { queue_id, last_event_id } = queues.get(reader) ?? {};
    const events = await reader.person.poll(queue_id, last_event_id, { dontBlock: true });
    return events.filter(({ type }) => type === 'message').map(({ message }) => message.content.split(' ')[0]);
  };

  const ids = {} as Record<Kind | 'direct', number>;
  for (const kind of KIND_NAMES) {
    const message = { type: 'channel', to: channels[kind], topic: 'topic', content: `${kind} ${WORD}` };
    ids[kind] = (await owner.ok('POST', '/messages', message)).id;
  }
  const talkers = readers.filter(({ relation }) => relation === 'stayed');
  const to = talkers.map(({ person }) => person.id);
  ids.direct = (await owner.ok('POST', '/messages', { type: 'direct', to, content: `direct ${WORD}` })).id;
  const heard = (reader: Reader) => [
    ...(RELATIONS[reader.relation].wasThere ? KIND_NAMES : []),
    ...(talkers.includes(reader) ? ['direct'] : []),
  ];
  for (const reader of readers)
    expect([reader.person.name, await told(reader)]).toEqual([reader.person.name, heard(reader)]);

  const subscriptions = KIND_NAMES.map((name) => ({ name }));
  const leaving = those((relation) => relation === 'left' || relation === 'returned');
  await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: [...KIND_NAMES], principals: leaving });
  const joining = those((relation) => relation === 'joined' || relation === 'returned');
  await owner.ok('POST', '/users/me/subscriptions', {
    ...{ subscriptions, principals: joining, send_new_subscription_messages: false },
  });
  await owner.ok('DELETE', `/streams/${channels.archived}`);

  const look = async (reader: Reader) => {
    const { person, role, relation } = reader;
    const { wasThere } = RELATIONS[relation];
    const kinds = KIND_NAMES.filter((kind) => mayRead(kind, role, RELATIONS[relation]));
    const [mine, all] = [talkers.includes(reader) ? ['direct'] : [], Object.entries(ids)];
    const readable = [...kinds, ...mine];
    const received = [...(wasThere ? kinds : []), ...mine];
    const who = `${relation} ${role}`;
    const found = async (narrow: Json, more: object = {}) => {
      const range = { anchor: 'newest', num_before: 100, num_after: 0, narrow, ...more };
      const { body } = await person.rest('GET', '/messages', range);
      // The service refuses the narrow if the reader cannot see the channel.
      if (body.code === 'BAD_NARROW') return [];
      return (body.messages as Json[]).flatMap(({ id }) => all.filter(([, one]) => one === id).map(([name]) => name));
    };

    // A repeated read of a queue returns the events of the first read, even if the reader has lost access since the messages
    // were sent.
    expect([who, await told(reader)]).toEqual([who, heard(reader)]);
    expect([who, await found([])]).toEqual([who, received]);
    expect([who, await found([['search', WORD]])]).toEqual([who, received]);
    const byIds = { message_ids: Object.values(ids) };
    const { messages } = await person.ok('GET', '/messages', byIds);
    expect([who, messages.map(({ id }: Json) => id)]).toEqual([who, readable.map((name) => ids[name as Kind])]);
    for (const [name, id] of all) {
      const isReadable = readable.includes(name);
      const one = await person.rest('GET', `/messages/${id}`);
      expect([who, name, one.status]).toEqual([who, name, isReadable ? 200 : 400]);
      if (isReadable) {
        const isHistorical = one.body.message.flags.includes('historical');
        expect([who, name, isHistorical]).toEqual([who, name, !received.includes(name)]);
      } else expect(one.body).toMatchObject({ code: 'BAD_REQUEST', msg: 'Invalid message(s)' });
    }
    const nodes = all.map(
      ([name, id]) => `${name}: node(id: "${Buffer.from(`Message:${id}`).toString('base64')}") { id }`,
    );
    const data = await person.query(`{ ${nodes.join(' ')} messages { edges { node { databaseId } } } }`);
    expect([who, all.filter(([name]) => data[name] !== null).map(([name]) => name)]).toEqual([who, readable]);
    expect([who, data.messages.edges.length]).toEqual([who, received.length]);
    for (const kind of KIND_NAMES) {
      const history = kinds.includes(kind) ? [kind] : [];
      const channel = { operator: 'channel', operand: channels[kind] };
      expect([who, await found([channel])]).toEqual([who, history]);
      expect([who, await found([channel, { operator: 'search', operand: WORD }])]).toEqual([who, history]);
    }
    const open = kinds.filter((kind) => kind === 'public' || kind === 'web' || kind === 'archived');
    expect([who, await found([{ operator: 'channels', operand: 'public' }])]).toEqual([who, open]);
  };
  await Promise.all(readers.map(look));
});
