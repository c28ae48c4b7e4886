import type { Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from './client.ts';
import { isBusy, isLostRace } from './errors.ts';
import { readRows } from './rows.ts';

/** What is read for each of the askers' items, in their order. */
type Read<T, V> = (place: ReadPlace, items: readonly T[]) => Promise<readonly V[]>;

/** Our choice: a statement for more rows takes so long that others had better not wait for it. */
const MAX_WEIGHT = 2_000;
/** Our choice: some times what such a statement takes. Who has waited so long for another's is not held up any longer. */
const PATIENCE_MS = 20;

/** Those who wait for the same statement. */
interface Gathering<T, V> {
  readonly items: T[];
  readonly read: Promise<readonly V[]>;
  readonly start: () => void;
  askers: number;
  weight: number;
}

/** The reads of one organisation. */
interface Lane<T, V> {
  gathering: Gathering<T, V> | undefined;
  /** Statements under way. */
  reading: number;
}

/** Where it is read, and what: only who has the same of all shares a statement. */
export interface ReadPlace {
  /** The client, be it of a transaction. */
  readonly db: SqlClient;
  readonly realmId: number;
  /** What the statement is told by, where it is another for some items. */
  readonly statement?: string;
}

/**
 * Reads one statement for many requests: whoever asks while one is under way shares the next with all who do. So the busier
 * a node is, the fewer statements a request costs it; one that is alone waits for nobody.
 *
 * A statement begins after all whom it is for have asked, so that each is given what is so by then. Nothing is kept.
 */
export class GatheredReads<T, V> {
  readonly #read: Read<T, V>;
  readonly #weightOf: (item: T) => number;
  readonly #lanes = new WeakMap<SqlClient, Map<string, Lane<T, V>>>();

  /**
   * @param read As much work as there are items, whoever asks for them.
   * @param weightOf How many rows an item may come to.
   */
  constructor(read: Read<T, V>, weightOf: (item: T) => number = () => 1) {
    this.#read = read;
    this.#weightOf = weightOf;
  }

  /**
   * What each of the items leads to. Whoever shares a statement that another one's item may have failed reads by themselves;
   * where the database could not take it, all are told so: as many statements as there are askers would not help it.
   */
  async of(place: ReadPlace, items: readonly T[]): Promise<readonly V[]> {
    const gathering = this.#gatheringAt(place);
    const start = gathering.items.length;
    for (const item of items) {
      gathering.items.push(item);
      gathering.weight += this.#weightOf(item);
    }
    gathering.askers++;
    if (gathering.weight >= MAX_WEIGHT) gathering.start();
    try {
      return (await gathering.read).slice(start, start + items.length);
    } catch (error) {
      if (gathering.askers === 1 || isBusy(error) || isLostRace(error)) throw error;
      return this.#read(place, items);
    }
  }

  #gatheringAt(place: ReadPlace): Gathering<T, V> {
    const { db, realmId, statement = '' } = place;
    const key = `${realmId} ${statement}`;
    const lanes = this.#lanes.get(db) ?? new Map<string, Lane<T, V>>();
    this.#lanes.set(db, lanes);
    const lane = lanes.get(key) ?? { gathering: undefined, reading: 0 };
    lanes.set(key, lane);
    return lane.gathering ?? this.#gather(place, lane, () => lanes.delete(key));
  }

  #gather(place: ReadPlace, lane: Lane<T, V>, forget: () => void): Gathering<T, V> {
    const { promise: read, resolve } = Promise.withResolvers<readonly V[]>();
    let timer: NodeJS.Timeout | undefined;
    const gathering: Gathering<T, V> = {
      ...{ items: [], read, askers: 0, weight: 0 },
      start: () => {
        if (lane.gathering !== gathering) return;
        lane.gathering = undefined;
        clearTimeout(timer);
        lane.reading++;
        // What throws at once fails those who asked, as what is rejected does: nobody stands behind a timer.
        const reading = new Promise<readonly V[]>((done) => done(this.#read(place, gathering.items))).finally(() => {
          lane.reading--;
          if (lane.gathering !== undefined) lane.gathering.start();
          else if (lane.reading === 0) forget();
        });
        resolve(reading);
      },
    };
    lane.gathering = gathering;
    // After the requests that have arrived by now, so that they share it; or when the one under way is over.
    if (lane.reading === 0) setImmediate(gathering.start);
    else timer = setTimeout(gathering.start, PATIENCE_MS);
    return gathering;
  }
}

/**
 * The rows of a statement, read once for all who ask for the same at the same time. They are for all of them: whoever wants
 * them otherwise makes others of them.
 *
 * @param statement By `Prisma.sql`; as a statement of `readRows`.
 */
export async function sharedRows<Row>(place: ReadPlace, statement: Prisma.Sql): Promise<readonly Row[]> {
  const { text, values } = statement;
  const key = `${text} ${JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))}`;
  const [rows] = await same.of({ ...place, statement: key }, [statement]);
  // Under one text and the same values is what one statement gave.
  return (rows ?? []) as readonly Row[];
}

const same = new GatheredReads<Prisma.Sql, readonly unknown[]>(async ({ db }, [statement, ...others]) => {
  if (statement === undefined) return [];
  const rows = await readRows(db, statement);
  return [rows, ...others.map(() => rows)];
});
