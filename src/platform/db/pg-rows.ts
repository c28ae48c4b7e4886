import pg from 'pg';

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

/**
 * Reads straight from the pool: what comes by the ORM's adapter is looked at three times, value by value.
 *
 * @param nameOf The name of a prepared statement; '' for one that is not kept.
 */
export function rowReader(pool: pg.Pool, nameOf: (text: string) => string): RowReader {
  return async <Row>(text: string, values: readonly unknown[]) => {
    const { rows } = await pool.query({ name: nameOf(text), text, values: [...values], types: TYPES });
    return rows as Row[];
  };
}
