import pg from 'pg';
import { type ByColumns, byColumnsOf, type ColumnTexts } from './by-columns.ts';

/** Reads the rows of a statement, values as the ORM has them. */
export type RowReader = <Row>(text: string, values: readonly unknown[]) => Promise<Row[]>;

type Parse = (text: string) => unknown;

const { builtins } = pg.types;
const parserOf = (oid: number) => pg.types.getTypeParser(oid, 'text') as Parse;

const INT8_ARRAY = 1016;

const otherDate = parserOf(builtins.TIMESTAMPTZ);
const texts = parserOf(INT8_ARRAY) as (text: string) => (string | null)[];
const bytes = parserOf(builtins.BYTEA) as (text: string) => Buffer;

/** `2026-11-23 14:11:16.599+00`, where the session is in UTC, as servers are. Years of five digits are left to the driver. */
const date: Parse = (text) =>
  text.endsWith('+00') && text[10] === ' ' ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`) : otherDate(text);

const refuse: Parse = () => {
  throw new Error('A statement must cast what is numeric, and give times their zone');
};

/** By the type's number, where the ORM has another value than the driver. */
const PARSERS: ReadonlyMap<number, Parse> = new Map<number, Parse>([
  [builtins.INT8, BigInt],
  [builtins.OID, BigInt],
  [INT8_ARRAY, (text) => texts(text).map((item) => (item === null ? null : BigInt(item)))],
  [builtins.TIMESTAMPTZ, date],
  [builtins.BYTEA, (text) => new Uint8Array(bytes(text))],
  [builtins.DATE, (text) => text],
  [builtins.NUMERIC, refuse],
  [builtins.TIMESTAMP, refuse],
]);

const TYPES = { getTypeParser: ((oid: number) => PARSERS.get(oid) ?? parserOf(oid)) as typeof pg.types.getTypeParser };

/** What is known of a statement that was read before. */
interface Known {
  /** Undefined where its rows cannot be had so. */
  readonly byColumns: ByColumns | undefined;
  /** Whether it gave many rows when it was read last, as it will again. */
  isLong: boolean;
}

/** From how many rows on columns are worth their while, and below how many no longer. Our choice, by what they took. */
const [LEAST, LEAST_STILL] = [64, 32];
/**
 * Our choice: these take about 4 ms to make of their columns, in one piece. More come by the driver, which makes them as they
 * arrive, in all for longer, and lets others in.
 */
const MOST = 4_000;

const isLong = ({ length }: readonly unknown[]): boolean => length >= LEAST && length <= MOST;

const AS_TEXT = { getTypeParser: (() => (text: string) => text) as typeof pg.types.getTypeParser };

/**
 * Reads straight from the pool: what comes by the ORM's adapter is looked at three times, value by value. A statement that
 * gave many rows is asked for their columns the next time (`by-columns.ts`).
 *
 * @param nameOf The name of a prepared statement; '' for one that is not kept.
 */
export function rowReader(pool: pg.Pool, nameOf: (text: string) => string): RowReader {
  const known = new Map<string, Known>();
  const ask = <Row extends object>(text: string, given: readonly unknown[], types: typeof TYPES) =>
    pool.query<Row>({ name: nameOf(text), text, values: [...given], types });
  return async <Row>(text: string, values: readonly unknown[]) => {
    const before = known.get(text);
    if (before?.isLong === true && before.byColumns !== undefined) {
      const { byColumns } = before;
      const { rows } = await ask<ColumnTexts>(byColumns.text, values, AS_TEXT);
      const found = byColumns.rowsOf(rows[0] ?? {});
      before.isLong = found.length >= LEAST_STILL && found.length <= MOST;
      return found as Row[];
    }
    const { rows, fields } = await ask(text, values, TYPES);
    if (before !== undefined) before.isLong = isLong(rows);
    // There is an end to what is prepared, and so to what is known.
    else if (nameOf(text) !== '') known.set(text, { byColumns: byColumnsOf(text, fields), isLong: isLong(rows) });
    return rows as Row[];
  };
}
