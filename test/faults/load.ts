import { setTimeout as sleep } from 'node:timers/promises';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { Person } from './demo.ts';
import { NamedCounters } from './outcome.ts';
import { between, type Random } from './random.ts';
import { Client, type ClientReply, CutOffError } from './requests.ts';

/**
 * Maximum number of drafts and of snippets that a writer creates. After that, the writer only edits them, because an account
 * can have a limited number.
 */
const MOST_MADE = 200;
/** Pause before a writer retries a change, in milliseconds. */
const AGAIN_MS = 30;

/** Makes a change of one kind. The change writes `token`, which no other change contains. */
type Act = (writer: Writer, token: string) => Promise<ClientReply>;

const CREATE_DRAFTS = `mutation($content: String!) {
  createDrafts(input: { drafts: [{ content: $content }] }) {
    __typename ... on CreateDraftsPayload { drafts { databaseId } } ... on ServiceError { code message }
  }
}`;
const UPDATE_DRAFT = `mutation($draftId: ID!, $content: String!) {
  updateDraft(input: { draftId: $draftId, draft: { content: $content } }) {
    __typename ... on ServiceError { code message }
  }
}`;
const CREATE_SNIPPET = `mutation($content: String!) {
  createSavedSnippet(input: { title: "Trial", content: $content }) {
    __typename ... on CreateSavedSnippetPayload { savedSnippet { databaseId } } ... on ServiceError { code message }
  }
}`;
const SEND_MESSAGE = `mutation($channelId: ID!, $content: String!) {
  sendMessage(input: { to: { topic: { named: { channel: { id: $channelId }, name: "trial" } } }, content: $content }) {
    __typename ... on ServiceError { code message }
  }
}`;
const UPDATE_COLOR = `mutation($channelId: ID!, $color: String!) {
  updateSubscriptionSettings(input: { subscriptions: [{ channelId: $channelId, color: $color }] }) {
    __typename ... on ServiceError { code message }
  }
}`;

const draftOf = (content: string) => ({ type: '', to: [], topic: '', content });
const COLOR = /^#[0-9a-f]{6}$/;

/**
 * Functions that make changes, by API and kind. `token` identifies the change. It has six hexadecimal digits, so that it is
 * also valid as a color.
 */
const ACTS: Readonly<Record<'REST' | 'GraphQL', Readonly<Record<string, Act>>>> = {
  REST: {
    'create draft': async ({ client, drafts }, token) => {
      const answer = await client.rest('POST', '/drafts', { drafts: [draftOf(token)] });
      drafts.push(...((answer.body?.ids as number[] | undefined) ?? []));
      return answer;
    },
    'edit draft': ({ client, drafts }, token) =>
      client.rest('PATCH', `/drafts/${drafts.at(-1)}`, { draft: draftOf(token) }),
    'create snippet': ({ client }, token) => client.rest('POST', '/saved_snippets', { title: 'Trial', content: token }),
    'send message': ({ client, channelId }, token) =>
      client.rest('POST', '/messages', { type: 'channel', to: channelId, topic: 'trial', content: token }),
    'set color': ({ client, channelId }, token) => {
      const change = { stream_id: channelId, property: 'color', value: token };
      return client.rest('POST', '/users/me/subscriptions/properties', { subscription_data: [change] });
    },
  },
  GraphQL: {
    'create draft': async ({ client, drafts }, token) => {
      const answer = await client.graphql(CREATE_DRAFTS, { content: token });
      const made = answer.body?.data?.createDrafts?.drafts as { databaseId: number }[] | undefined;
      drafts.push(...(made ?? []).map(({ databaseId }) => databaseId));
      return answer;
    },
    'edit draft': ({ client, drafts }, token) =>
      client.graphql(UPDATE_DRAFT, { draftId: globalId('Draft', drafts.at(-1) ?? 0), content: token }),
    'create snippet': ({ client }, token) => client.graphql(CREATE_SNIPPET, { content: token }),
    'send message': ({ client, channelId }, token) =>
      client.graphql(SEND_MESSAGE, { channelId: globalId('Channel', channelId), content: token }),
    'set color': ({ client, channelId }, token) =>
      client.graphql(UPDATE_COLOR, { channelId: globalId('Channel', channelId), color: token }),
  },
};

/** Returns whether the response acknowledges the change. */
function isSuccess({ status, body }: ClientReply): boolean {
  if (status !== 200 || body === undefined) return false;
  if (body.result !== undefined) return body.result === 'success';
  const results = Object.values((body.data ?? {}) as Record<string, Json>);
  return body.errors === undefined && results.length > 0 && results.every((result) => result.code === undefined);
}

/** Returns whether the response refuses the change because the service is temporarily unavailable or its disk is full. */
function isRefusal({ status, body }: ClientReply): boolean {
  const results = Object.values((body?.data ?? {}) as Record<string, Json>);
  const codes = [body?.code, body?.errors?.[0]?.extensions?.code, ...results.map((result) => result?.code)];
  const isBusy = (status === 200 || status === 503) && codes.includes('REQUEST_TIMEOUT');
  return isBusy || ((status === 200 || status === 507) && codes.includes('STORAGE_FULL'));
}

/** A client that makes changes one at a time, and records which of them were acknowledged. */
export class Writer {
  readonly client: Client;
  readonly channelId: number;
  readonly drafts: number[] = [];
  readonly acknowledged: string[] = [];
  /** Time of each acknowledgement, by `performance.now()`. */
  readonly acknowledgedAt: number[] = [];
  /** Tokens of the changes that the service refused. Such changes must have had no effect. */
  readonly refused: string[] = [];
  readonly violations = new NamedCounters();
  readonly #door: 'REST' | 'GraphQL';
  readonly #number: number;
  readonly #random: Random;
  readonly #pauseMs: number;
  #made = 0;
  #created = 0;
  #cutOff = 0;

  private constructor(client: Client, channelId: number, { door, number, random, pauseMs = 0 }: WriterOptions) {
    this.client = client;
    this.channelId = channelId;
    this.#door = door;
    this.#number = number;
    this.#random = random;
    this.#pauseMs = pauseMs;
  }

  static async start(url: string, person: Person, options: WriterOptions): Promise<Writer> {
    const client = new Client(url, person);
    const { subscriptions } = await client.ask('GET', '/users/me/subscriptions');
    return new Writer(client, subscriptions[0].stream_id, options);
  }

  /** Number of changes that got no answer, so that their outcome is unknown. */
  get cutOff(): number {
    return this.#cutOff;
  }

  /** Makes changes until `stopped` returns true and the last change is acknowledged. */
  async run(stopped: () => boolean): Promise<void> {
    for (let acknowledged = false; !stopped() || !acknowledged; ) {
      acknowledged = await this.#change();
      if (!acknowledged || this.#pauseMs > 0) await sleep(AGAIN_MS + this.#random() * this.#pauseMs);
    }
    this.client.close();
  }

  async #change(): Promise<boolean> {
    const acts = Object.entries(ACTS[this.#door]);
    const possible = acts.filter(([name]) =>
      name === 'edit draft' ? this.drafts.length > 0 : !name.startsWith('create') || this.#created < MOST_MADE,
    );
    const [name, act] = possible[between(this.#random, 0, possible.length)] as [string, Act];
    const token = this.#token(name === 'set color');
    try {
      const answer = await act(this, token);
      if (isSuccess(answer)) {
        this.acknowledged.push(token);
        if (name.startsWith('create')) this.#created++;
        this.acknowledgedAt.push(performance.now());
        return true;
      }
      if (isRefusal(answer)) this.refused.push(token);
      else this.violations.add(`${this.#door} ${name}: answer ${answer.status} ${JSON.stringify(answer.body)}`);
    } catch (error) {
      if (!(error instanceof CutOffError)) this.violations.add(`${this.#door} ${name}: ${error}`);
      else if (error.sent) this.#cutOff++;
    }
    return false;
  }

  #token(asColor: boolean): string {
    const number = this.#number * 0x10000 + ++this.#made;
    const digits = number.toString(16).padStart(6, '0');
    return asColor ? `#${digits}` : `token ${digits}`;
  }
}

interface WriterOptions {
  readonly door: 'REST' | 'GraphQL';
  /** A number from 1 to 255 that no other writer has. */
  readonly number: number;
  readonly random: Random;
  /** Longest pause between two changes, in milliseconds. */
  readonly pauseMs?: number;
}

/** Returns whether a text in an event is the token of a change. */
export const isToken = (text: string): boolean => COLOR.test(text) || /^token [0-9a-f]{6}$/.test(text);
