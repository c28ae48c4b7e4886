import { type Json, send } from './http.ts';
import { operationBody, type Visitor } from './person.ts';
import { toTopic } from './talk.ts';

/** A message to a topic of a channel, with the idempotency key of its request. */
interface Said {
  readonly to: number;
  readonly topic: string;
  readonly content: string;
  readonly key?: string;
}

/** Fields of the payload that are known without reading the message. */
export const KNOWN = 'position again: position newTopicVisibility';

/** Functions that send a message over each API. The form of the result does not depend on the API. */
export const WAYS = {
  async REST(person: Visitor, { key, ...message }: Said): Promise<Json> {
    const options = key === undefined ? {} : { headers: { 'idempotency-key': key } };
    const { status, body } = await person.rest('POST', '/messages', { type: 'channel', ...message }, options);
    return { isSent: status === 200, ...body };
  },
  async GraphQL(person: Visitor, { key, to, topic, content }: Said, selection = KNOWN): Promise<Json> {
    const query = `mutation ($input: SendMessageInput!) { sent: sendMessage(input: $input) { __typename
      ... on SendMessagePayload { ${selection} } ... on ServiceError { code message } } }`;
    const variables = { input: { to: toTopic(to, topic), content } };
    const { headers, body } = operationBody({ query, variables });
    const keyed = key === undefined ? {} : { 'idempotency-key': key };
    const all = { ...person.headers, ...headers, ...keyed };
    const reply = await send(person.url, { method: 'POST', path: '/graphql', headers: all, body });
    const { data, errors } = JSON.parse(reply.text) as Json;
    if (errors !== undefined) return { isSent: false, msg: errors[0].message };
    return { isSent: data.sent.__typename === 'SendMessagePayload', ...data.sent };
  },
};
export const ways: readonly [string, (person: Visitor, said: Said) => Promise<Json>][] = Object.entries(WAYS);
