import { globalId } from './global-ids.ts';
import type { Json } from './http.ts';
import type { InProcess } from './in-process.ts';
import type { Parameters, Person, RestOptions } from './person.ts';

/** Creates a channel. @returns Its id. */
export async function channelOf(
  owner: Person,
  name: string,
  members: readonly Person[],
  more: Parameters = {},
): Promise<number> {
  const subscribers = members.map(({ id }) => id);
  return (await owner.ok('POST', '/channels/create', { name, subscribers, ...more })).id;
}

/** Sends a message to a channel. @returns The id of the message. */
export async function say(person: Person, channel: number | string, topic: string, content = 'hello'): Promise<number> {
  return (await person.ok('POST', '/messages', { type: 'channel', to: channel, topic, content })).id;
}

/**
 * Inserts copies of a message directly in the database, because rendering and sending many long messages takes seconds.
 *
 * @returns The ids of the copies, in ascending order.
 */
export async function copyMessage({ app }: InProcess, id: number, count: number): Promise<number[]> {
  const copies = await app.db.$queryRaw<{ id: bigint }[]>`
    INSERT INTO message SELECT (jsonb_populate_record(m, jsonb_build_object(
      'id', nextval('message_id_seq'), 'send_token', m.send_token + i))).*
    FROM message m, generate_series(1, ${count}::int) i WHERE m.id = ${id} RETURNING id`;
  return copies.map((copy) => Number(copy.id)).sort((a, b) => a - b);
}

/** Returns the GraphQL input for a topic. @param channel Id or name of the channel. */
export const topicRef = (channel: number | string, name: string) => ({
  named: { channel: typeof channel === 'number' ? { id: globalId('Channel', channel) } : { name: channel }, name },
});

/** Returns the GraphQL input for a topic as the target of a message. @param channel Id or name of the channel. */
export const toTopic = (channel: number | string, name: string) => ({ topic: topicRef(channel, name) });

export const messagesIn = (events: readonly Json[]): Json[] => events.filter(({ type }) => type === 'message');

/** Polls a queue until a matching message arrives. @returns The event of the message. */
export async function receivedMessage(
  person: Person,
  { queue_id, last_event_id }: Json,
  isIt: (message: Json) => boolean,
): Promise<Json> {
  for (let last = last_event_id; ; ) {
    const events = await person.poll(queue_id, last);
    last = events.at(-1).id;
    const received = messagesIn(events).find(({ message }) => isIt(message));
    if (received !== undefined) return received;
  }
}

/**
 * Schedules a message 2 seconds ahead, or 8 seconds ahead if the first request arrives too late.
 *
 * @returns The `scheduled_message_id`.
 * @throws {Error} If the service refuses the message, or a request takes more than 8 s.
 */
export async function scheduleSoon(person: Person, message: Parameters, options?: RestOptions): Promise<number> {
  for (const seconds of [2, 8]) {
    const parameters = { ...message, scheduled_delivery_timestamp: Math.floor(Date.now() / 1000) + seconds };
    const { status, body } = await person.rest('POST', '/scheduled_messages', parameters, options);
    if (status === 200) return body.scheduled_message_id;
    if (!/must be in the future/.test(body.msg))
      throw new Error(`Scheduling was answered with ${JSON.stringify(body)}`);
  }
  throw new Error('A request took more than 8 s');
}
