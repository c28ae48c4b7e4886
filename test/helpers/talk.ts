import { globalId } from './global-ids.ts';
import type { Json } from './http.ts';
import type { Parameters, Person, RestOptions } from './person.ts';

/** Makes a channel. @returns Its id. */
export async function channelOf(
  owner: Person,
  name: string,
  members: readonly Person[],
  more: Parameters = {},
): Promise<number> {
  const subscribers = members.map(({ id }) => id);
  return (await owner.ok('POST', '/channels/create', { name, subscribers, ...more })).id;
}

/** Sends to a channel. @returns The message's id. */
export async function say(person: Person, channel: number | string, topic: string, content = 'hello'): Promise<number> {
  return (await person.ok('POST', '/messages', { type: 'channel', to: channel, topic, content })).id;
}

/** Where a message to a channel goes, as GraphQL takes it. @param channel Its number, or its name. */
export const toTopic = (channel: number | string, name: string) => ({
  topic: { channel: typeof channel === 'number' ? { id: globalId('Channel', channel) } : { name: channel }, name },
});

export const messagesIn = (events: readonly Json[]): Json[] => events.filter(({ type }) => type === 'message');

/** Waits for a message of this topic or content, as a client that listens. @returns Its event. */
export async function heardMessage(
  person: Person,
  { queue_id, last_event_id }: Json,
  isIt: (message: Json) => boolean,
): Promise<Json> {
  for (let last = last_event_id; ; ) {
    const events = await person.poll(queue_id, last);
    last = events.at(-1).id;
    const heard = messagesIn(events).find(({ message }) => isIt(message));
    if (heard !== undefined) return heard;
  }
}

/**
 * Schedules a message for as soon as it can be: a moment hence, and later where the request came when that was over.
 *
 * @returns Its `scheduled_message_id`.
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
