import pg from 'pg';
import { type ByColumns, byColumnsOf, type ColumnTexts } from './by-columns.ts';

/** Reads the rows of a statement. Values have the types that the ORM returns. */
export type RowReader = <Row>(text: string, values: readonly unknown[]) => Promise<Row[]>;

type Parse = (text: string) => unknown;

const { builtins } = pg.types;
const parserOf = (oid: number) => pg.types.getTypeParser(oid, 'text') as Parse;

const INT8_ARRAY = 1016;

const otherDate = parserOf(builtins.TIMESTAMPTZ);
const texts = parserOf(INT8_ARRAY) as (text: string) => (string | null)[];
const bytes = parserOf(builtins.BYTEA) as (text: string) => Buffer;

/** Parses `2026-11-23 14:11:16.599+00`, the form in a session with UTC. The driver parses other forms. */
const date: Parse = (text) =>
  text.endsWith('+00') && text[10] === ' ' ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`) : otherDate(text);

const refuse: Parse = () => {
  throw new Error('A statement must cast numeric columns to another type, and return times with a time zone');
};

/** Parsers by the id of an SQL type, for types whose values the ORM and the driver return in different forms. */
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

/** Properties of a statement that was already run. */
interface StatementProperties {
  /** Statement that returns the rows as lists of column values (`by-columns.ts`). Undefined if that is not possible. */
  readonly byColumns: ByColumns | undefined;
  /** Whether the last result of the statement had many rows. Its next result is then expected to have many rows too. */
  isLong: boolean;
}

/**
 * Numbers of rows that decide whether a statement is run by columns (`by-columns.ts`). A statement that has returned at least
 * `LEAST` rows is run by columns until it returns fewer than `LEAST_STILL` rows. Both numbers were measured.
 */
const [LEAST, LEAST_STILL] = [64, 32];
/**
 * Maximum number of rows of a statement that is run by columns: decoding so many rows blocks the event loop for about 4 ms. The
 * driver decodes larger results as they arrive, which takes longer in total, but yields to the event loop.
 */
const MOST = 4_000;

const isLong = ({ length }: readonly unknown[]): boolean => length >= LEAST && length <= MOST;

const AS_TEXT = { getTypeParser: (() => (text: string) => text) as typeof pg.types.getTypeParser };

/**
 * Returns a reader that uses the pool directly: the ORM's adapter processes every value three times. If a statement returned
 * many rows, it is run by columns the next time (`by-columns.ts`).
 *
 * @param nameOf Returns the name of a prepared statement. '' if the statement is not prepared.
 */
export function rowReader(pool: pg.Pool, nameOf: (text: string) => string): RowReader {
  const known = new Map<string, StatementProperties>();
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
    // Only prepared statements are recorded. Their number is bounded, so the size of `known` is bounded too.
    else if (nameOf(text) !== '') known.set(text, { byColumns: byColumnsOf(text, fields), isLong: isLong(rows) });
    return rows as Row[];
  };
}
