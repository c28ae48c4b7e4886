import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { indexHistory, tallyMessages } from '../bench/backlog.ts';
import { fillHistory } from '../bench/history.ts';
import { subscribe } from '../bench/sends.ts';
import type { Json } from '../helpers/http.ts';
import { type DemoService, makeNeighbour, makeOrganization, type OtherOrganization, startDemo } from './demo.ts';
import { addUp, type Broken, gapOf } from './felt.ts';
import {
  brokenBy,
  compareSent,
  delaysOf,
  faredIn,
  ms,
  Neighbours,
  neighbourFigures,
  p95Of,
  SequentialSender,
  type Spell,
  type WatchedTrial,
} from './neighbours.ts';
import { type Outcome, some, without } from './outcome.ts';
import { Client } from './requests.ts';
import { openDatabase, withDatabase } from './truth.ts';

const SEARCHERS = 12;
/** Number of messages that typical clients request in a page. */
const PAGE = 50;
/**
 * Pause of a user between two pages, in milliseconds. All users together then make about fifteen searches a second, so that two
 * cores still have spare CPU time.
 */
const PAUSE_MS = 750;
/** Number of messages in the small organization. `FEW_PAUSE_MS` is the pause between two searches in it, in milliseconds. */
const FEW = 5;
const FEW_PAUSE_MS = 200;
/** All messages that `fillHistory` inserts contain the words `COMMON` and `ANOTHER`. None contains `NOWHERE`. */
const [COMMON, ANOTHER, NOWHERE] = ['organization', 'people', 'xylophone'];

/** The organization that is searched, and the channels in which the user receives messages. */
interface Ground {
  readonly organizationId: number;
  /** Channels to which the user is subscribed. */
  readonly channelIds: readonly number[];
}

/** A search by one user that fetches page after page, from a start message to the oldest match. */
class Walk {
  readonly ground: Ground;
  readonly words: readonly string[];
  /** Whether the search covers all public channels instead of only the messages that the user received. */
  readonly isPublic: boolean;
  readonly from: number | undefined;
  readonly ids: number[] = [];
  isOver = false;

  constructor(
    ground: Ground,
    { words, isPublic, from }: { words: readonly string[]; isPublic: boolean; from?: number | undefined },
  ) {
    this.ground = ground;
    this.words = words;
    this.isPublic = isPublic;
    this.from = from;
  }

  /** Returns the request parameters of the next page. */
  get parameters(): Readonly<Record<string, unknown>> {
    const search = { operator: 'search', operand: this.words.join(' ') };
    return {
      ...{ anchor: String(this.ids.at(-1) ?? this.from ?? 'newest'), include_anchor: this.ids.length === 0 },
      ...{ num_before: PAGE, num_after: 0 },
      narrow: this.isPublic ? [{ operator: 'channels', operand: 'public' }, search] : [search],
    };
  }

  /** Adds a page to the results. @returns Violations found in the page. */
  take({ messages, found_oldest }: Json): string[] {
    this.ids.push(...(messages as { id: number }[]).map(({ id }) => id).reverse());
    this.isOver = found_oldest;
    const isEmpty = messages.length === 0 && !this.isOver;
    return isEmpty ? [`a page of "${this.words.join(' ')}" was empty, but the search was not finished`] : [];
  }

  /**
   * Compares the results with those of a sequential scan of all messages. @returns The violations. `made` is the number of
   * results.
   */
  async compare(db: pg.Client): Promise<Broken & { readonly made: number }> {
    const { ground, words, isPublic, from, ids, isOver } = this;
    const { rows } = await db.query<{ id: number }>(
      `SELECT id::float8 AS id FROM message
       WHERE realm_id = $1 AND ($2 OR channel_id = ANY($3::int[])) AND id BETWEEN $4 AND $5
         AND topic || ' ' || content ~ ALL($6::text[])`,
      [
        ...[ground.organizationId, isPublic, ground.channelIds],
        ...[isOver ? 0 : (ids.at(-1) ?? from), from ?? Number.MAX_SAFE_INTEGER],
        words.map((word) => `\\m${word}\\M`),
      ],
    );
    const [found, due] = [new Set(ids), new Set(rows.map(({ id }) => id))];
    return {
      lost: without(due, found).length,
      repeated: ids.length - found.size,
      outOfOrder: ids.filter((id, i) => id > (ids[i - 1] ?? Number.POSITIVE_INFINITY)).length,
      refusedButDone: 0,
      made: without(found, due).length,
    };
  }
}

/** A user who runs several searches, one page at a time in turn. After its last page, a search starts again. */
class Searcher {
  readonly #client: Client;
  readonly #begin: readonly (() => Walk)[];
  readonly #current: Walk[];
  readonly walks: Walk[] = [];
  readonly failures: string[] = [];
  /** Duration of each request, in milliseconds. */
  took: number[] = [];
  #turn = 0;

  /** @param begin Functions, each of which begins one of the searches. */
  constructor(client: Client, begin: readonly (() => Walk)[]) {
    this.#client = client;
    this.#begin = begin;
    this.#current = begin.map((one) => one());
    this.walks.push(...this.#current);
  }

  async search(): Promise<void> {
    const at = this.#turn++ % this.#begin.length;
    let walk = this.#current[at] as Walk;
    if (walk.isOver) {
      walk = (this.#begin[at] as () => Walk)();
      this.#current[at] = walk;
      this.walks.push(walk);
    }
    const body = await this.#get(walk.parameters);
    if (body !== undefined) this.failures.push(...walk.take(body));
  }

  /** Reads as many messages as a page of a search contains, but without a search. */
  async read(channelId: number): Promise<void> {
    const narrow = [{ operator: 'channel', operand: channelId }];
    await this.#get({ anchor: 'newest', num_before: PAGE, num_after: 0, narrow });
  }

  async #get(parameters: Readonly<Record<string, unknown>>): Promise<Json> {
    const startedAt = performance.now();
    try {
      const { status, body } = await this.#client.rest('GET', '/messages', parameters);
      this.took.push(performance.now() - startedAt);
      if (status === 200) return body;
      this.failures.push(`${status} ${JSON.stringify(body)}`);
    } catch (error) {
      this.failures.push(String(error));
    }
  }

  close(): void {
    this.#client.close();
  }
}

/** Makes each searcher run an action repeatedly, for `seconds` seconds. */
async function atPace(
  searchers: readonly Searcher[],
  { seconds, pauseMs }: { seconds: number; pauseMs: number },
  act: (searcher: Searcher) => Promise<void>,
): Promise<Spell> {
  for (const searcher of searchers) searcher.took = [];
  const since = performance.now();
  const endsAt = since + seconds * 1_000;
  await Promise.all(
    searchers.map(async (searcher, i) => {
      await sleep((i * pauseMs) / searchers.length);
      while (performance.now() < endsAt) {
        await act(searcher);
        await sleep(pauseMs);
      }
    }),
  );
  const took = searchers.flatMap((searcher) => searcher.took);
  return { took, gap: Math.max(...took), since, until: performance.now() };
}

/**
 * Creates the searchers of the large organization. One half of them search the messages that they received, the other half all
 * public channels.
 */
async function makeSearchers(
  url: string,
  db: pg.Client,
  { organizationId, owner, members }: OtherOrganization,
  size: number,
): Promise<{ readonly searchers: readonly Searcher[]; readonly channelId: number }> {
  const all = await fillHistory(db, { organizationId, senderId: owner.userId, size });
  const channelIds = all.slice(0, all.length / 2);
  const userIds = members.map(({ userId }) => userId);
  for (const channelId of channelIds) await subscribe({ db }, { organizationId, channelId }, userIds);
  await tallyMessages(db, organizationId);
  await indexHistory(db, organizationId);
  await db.query('VACUUM ANALYZE');
  const { rows } = await db.query<{ low: number; high: number }>(
    'SELECT min(id)::float8 AS low, max(id)::float8 AS high FROM message WHERE realm_id = $1',
    [organizationId],
  );
  const [{ low, high }] = rows as [(typeof rows)[number]];
  const searchers = members.map((person, i) => {
    const isPublic = i % 2 === 0;
    // The users start at different messages, because PostgreSQL caches the pages of recently read rows.
    const from = high - Math.floor(((high - low) * i) / members.length);
    const begin = [
      { words: [COMMON], from },
      { words: [COMMON, ANOTHER], from },
      // Matches one topic in each channel. The start is near the oldest message, so that the search reaches its end.
      { words: [COMMON, String(i + 1)], from: low + Math.floor((high - low) / 12) },
      { words: [NOWHERE] },
    ];
    const ground = { organizationId, channelIds };
    return new Searcher(
      new Client(url, person),
      begin.map((what) => () => new Walk(ground, { isPublic, ...what })),
    );
  });
  return { searchers, channelId: channelIds[0] ?? 0 };
}

/** Creates a user of an organization with few messages, who runs the same searches as the users of the large organization. */
async function makeModest(url: string, { organizationId, owner }: OtherOrganization): Promise<Searcher> {
  const client = new Client(url, owner);
  await client.ask('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'few' }] });
  const { stream_id } = await client.ask('GET', '/get_stream_id', { stream: 'few' });
  for (let i = 0; i < FEW; i++) {
    const content = `The ${COMMON} has ${i} ${ANOTHER}`;
    await client.ask('POST', '/messages', { type: 'channel', to: stream_id, topic: 'few', content });
  }
  const ground = { organizationId, channelIds: [stream_id] };
  return new Searcher(
    client,
    [[COMMON], [COMMON, ANOTHER], [NOWHERE]].map((words) => () => new Walk(ground, { words, isPublic: false })),
  );
}

/** Compares the results of all searches with sequential scans of all messages. */
async function compareWalks(service: DemoService, walks: readonly Walk[]) {
  const db = await openDatabase(service);
  const compared: Awaited<ReturnType<Walk['compare']>>[] = [];
  for (const walk of walks) compared.push(await walk.compare(db));
  await db.end();
  const { lost, repeated, outOfOrder, refusedButDone } = addUp(compared);
  const made = compared.reduce((sum, one) => sum + one.made, 0);
  return {
    broken: { lost, repeated, outOfOrder, refusedButDone },
    violations: [
      ...(lost > 0 ? [`${lost} matching messages were on no page`] : []),
      ...(repeated > 0 ? [`${repeated} messages were on a page more than once`] : []),
      ...(outOfOrder > 0 ? [`${outOfOrder} messages came after an older one`] : []),
      ...(made > 0 ? [`${made} messages were on a page but do not match`] : []),
    ],
  };
}

/**
 * Lets twelve users concurrently search an organization with very many messages. They search for words that all messages
 * contain and for a word that none contains. Each request must be answered, and the pages must contain all matches. Users of
 * other organizations at the node must not be affected, whether they send or search.
 *
 * @param size Number of messages.
 */
export async function searchTrial({
  databaseServer,
  seconds,
  size,
  isTimed,
}: WatchedTrial & { readonly size: number }): Promise<Outcome> {
  await using service = await startDemo(databaseServer);
  const { server } = service;
  const { url } = server;
  const db = await openDatabase(service);
  const large = await makeOrganization(server, SEARCHERS);
  const { searchers, channelId } = await makeSearchers(url, db, large, size);
  await db.end();
  const modest = await makeModest(url, await makeOrganization(server, 0));
  const neighbours = await Neighbours.start(url, await makeNeighbour(server));
  const sender = await SequentialSender.start(url, large.owner);
  let isOver = false;
  const sending = sender.until(() => isOver, { pauseMs: PAUSE_MS });
  const meanwhile = async (act: (searcher: Searcher) => Promise<void>) => {
    const spells = Promise.all([
      atPace(searchers, { seconds, pauseMs: PAUSE_MS }, act),
      atPace([modest], { seconds, pauseMs: FEW_PAUSE_MS }, (one) => one.search()),
    ]);
    const spell = await neighbours.during(spells);
    const [hit, few] = await spells;
    return { hit, few, spell };
  };
  const reading = await meanwhile((searcher) => searcher.read(channelId));
  const since = performance.now();
  const searching = await meanwhile((searcher) => searcher.search());
  isOver = true;
  await sending;
  for (const one of [...searchers, modest, sender, neighbours]) one.close();
  const everybody = [...searchers, modest];
  const walks = everybody.flatMap((searcher) => searcher.walks);
  const found = await compareWalks(service, walks);
  const sent = await withDatabase(service, (query) => compareSent(query, [sender, ...neighbours.senders]));
  const fared = faredIn([reading.spell], [searching.spell]);
  const few = faredIn([reading.few], [searching.few]);
  const failures = everybody.flatMap((searcher) => searcher.failures);
  const fault = `${SEARCHERS} users search ${size.toLocaleString('en')} messages`;
  return {
    trial: fault,
    facts: {
      searches: `${searching.hit.took.length}, after ${reading.hit.took.length} plain reads`,
      'p95 of a search': `${ms(p95Of([searching.hit]))}, longest ${ms(searching.hit.gap)}, p95 of a plain read ${ms(p95Of([reading.hit]))}`,
      'messages found': walks.reduce((sum, { ids }) => sum + ids.length, 0),
      'finished searches': `${walks.filter(({ isOver }) => isOver).length}, ${walks.filter(({ isOver, ids }) => isOver && ids.length > PAGE).length} of them with several pages`,
      'p95 of a search among few messages': `${ms(few.before)} before, ${ms(few.meanwhile)} meanwhile`,
      ...neighbourFigures(neighbours, fared),
    },
    violations: [
      ...(failures.length > 0 ? [`searches failed: ${some(failures)}`] : []),
      ...(sender.failures.length > 0 ? [`sends to that organization failed: ${some(sender.failures)}`] : []),
      ...found.violations,
      ...brokenBy(sent),
      ...delaysOf('searches among few messages', few, { isTimed }),
      ...neighbours.complaints(fared, { isTimed }),
    ],
    felt: [
      {
        fault,
        ...addUp([found.broken, sent]),
        gap: gapOf({ writers: [sender] }, since),
        neighbours: fared,
      },
    ],
  };
}
