import pg from 'pg';

/** The columns of an answer, by name: JSON of a list of the values in it; null for no rows. */
export type ColumnTexts = Readonly<Record<string, string | null>>;

/** A statement that gives the rows of another by their columns. */
export interface ByColumns {
  readonly text: string;
  /** The rows that the other would have given. */
  readonly rowsOf: (columns: ColumnTexts) => Record<string, unknown>[];
}

/** How values of a type are had as JSON. */
interface Form {
  /** What of the column is listed, where it is not the value as it is. */
  readonly sql?: (column: string) => string;
  /** Makes what the driver would have made of what JSON has. */
  readonly decode?: (value: never) => unknown;
}

const { builtins } = pg.types;
const ARRAYS = { BOOL: 1000, INT4: 1007, TEXT: 1009, INT8: 1016 } as const;

const AS_IT_IS: Form = {};
/** JSON has no numbers for these. */
const BIG: Form = { sql: (column) => `${column}::text`, decode: BigInt };

/** By the type's number: of other types nothing is had by columns. */
const FORMS: ReadonlyMap<number, Form> = new Map<number, Form>([
  ...[builtins.BOOL, builtins.INT2, builtins.INT4, builtins.TEXT, builtins.VARCHAR, builtins.UUID].map(asItIs),
  ...[builtins.JSON, builtins.JSONB, builtins.DATE, ARRAYS.BOOL, ARRAYS.INT4, ARRAYS.TEXT].map(asItIs),
  [builtins.INT8, BIG],
  [builtins.OID, BIG],
  [
    ARRAYS.INT8,
    {
      sql: (column) => `${column}::text[]`,
      decode: (items: (string | null)[]) => items.map((item) => (item === null ? null : BigInt(item))),
    },
  ],
  [
    builtins.TIMESTAMPTZ,
    {
      sql: (column) => `floor(extract(epoch FROM ${column}) * 1000)::int8`,
      decode: (milliseconds: number) => new Date(milliseconds),
    },
  ],
]);

function asItIs(type: number): [number, Form] {
  return [type, AS_IT_IS];
}

/** What changes or locks something is left as it is: the first can stand in no other statement. */
const CHANGES = /\b(INSERT|UPDATE|DELETE|MERGE)\b/i;
const READS = /^\s*(SELECT|WITH)\b/i;

/**
 * The statement that lists each column of another one as JSON. The driver makes a text of every single value of every row,
 * which for three hundred rows of thirteen columns takes twice as long as to have PostgreSQL write thirteen lists and V8 read
 * them. PostgreSQL takes a little more for it.
 *
 * @param fields What the other one answers with.
 * @returns Undefined where it may change something, and for columns that would not be the same.
 */
export function byColumnsOf(text: string, fields: readonly pg.FieldDef[]): ByColumns | undefined {
  const names = fields.map(({ name }) => name);
  const forms = fields.flatMap(({ dataTypeID }) => FORMS.get(dataTypeID) ?? []);
  const isPlain = forms.length === names.length && new Set(names).size === names.length && names.length > 0;
  if (!isPlain || !READS.test(text) || CHANGES.test(text)) return undefined;
  const lists = names.map((name, i) => {
    const column = `listed.${pg.escapeIdentifier(name)}`;
    return `json_agg(${forms[i]?.sql?.(column) ?? column}) AS ${pg.escapeIdentifier(name)}`;
  });
  // As they come of a row that has nothing yet: rows of one statement have one shape.
  const blank = Object.fromEntries(names.map((name) => [name, null]));
  return {
    text: `SELECT ${lists.join(', ')} FROM (${text}\n) AS listed`,
    rowsOf(columns) {
      const lists = names.map((name, i) => listIn(columns[name], forms[i]?.decode));
      const rows = Array.from({ length: lists[0]?.length ?? 0 }, () => ({ ...blank }) as Record<string, unknown>);
      names.forEach((name, i) => {
        const list = lists[i] ?? [];
        for (let at = 0; at < list.length; at++) (rows[at] as Record<string, unknown>)[name] = list[at];
      });
      return rows;
    },
  };
}

function listIn(text: string | null | undefined, decode: Form['decode']): readonly unknown[] {
  const list = text == null ? [] : (JSON.parse(text) as unknown[]);
  return decode === undefined ? list : list.map((value) => (value === null ? null : decode(value as never)));
}
