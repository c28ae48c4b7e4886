import type { Json } from './http.ts';
import type { Parameters, Person } from './person.ts';

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

export const messagesIn = (events: readonly Json[]): Json[] => events.filter(({ type }) => type === 'message');
