import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasSqlDetails, parseSync as parseSql } from 'libpg-query';
import { parseSync } from 'vite';

const SOURCES = join(import.meta.dirname, '../../src');

/** Matches the tags of templates that contain SQL: `Prisma.sql`, `sql`, and the methods of the ORM. */
const SQL_TAG = /(?:^|\.)(?:sql|\$queryRaw|\$executeRaw)$/;

/** Matches the beginning of a statement in a text that has no tag. Such texts are executed by a driver. */
const STATEMENT = /^\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\s(?=[\s\S]*\b(?:FROM|INTO|SET)\s)/;

/** SQL in `src`: a statement, or a part that is inserted into other templates. */
export interface SqlTemplate {
  /** Path in `src`, and line. */
  readonly place: string;
  /** Text between the inserted values and parts, at least one. White space is reduced to single spaces. */
  readonly texts: readonly string[];
}

/** Returns SQL without comments and line breaks. */
export const inOneLine = (sql: string): string => sql.replaceAll(/--.*$/gm, ' ').replaceAll(/\s+/g, ' ');

/** Reads all SQL templates of `src`. */
export function readSqlTemplates(): SqlTemplate[] {
  const files = globSync('**/*.ts', { cwd: SOURCES, exclude: ['**/generated/**', 'web/**'] }).sort();
  return files.flatMap((file) => {
    const source = readFileSync(join(SOURCES, file), 'utf8');
    const templates: SqlTemplate[] = [];
    collect(parseSync(file, source).program, (tag, texts, start) => {
      if (tag === undefined ? !STATEMENT.test(texts.join('')) : !SQL_TAG.test(source.slice(...tag))) return;
      const line = source.slice(0, start).split('\n').length;
      templates.push({ place: `${file}:${line}`, texts: texts.map(inOneLine) });
    });
    return templates;
  });
}

// biome-ignore lint/suspicious/noExplicitAny: Nodes of the syntax tree are visited generically.
type Tree = any;

/** Calls `found` for each template and each string, with the position of its tag if it has one. */
function collect(
  node: Tree,
  found: (tag: readonly [number, number] | undefined, texts: readonly string[], start: number) => void,
): void {
  if (node === null || typeof node !== 'object') return;
  const textsOf = ({ quasis }: Tree): string[] => quasis.map(({ value }: Tree) => value.cooked);
  if (node.type === 'Literal' && typeof node.value === 'string') found(undefined, [node.value], node.start);
  if (node.type === 'TemplateLiteral') found(undefined, textsOf(node), node.start);
  if (node.type === 'TaggedTemplateExpression') {
    found([node.tag.start, node.tag.end], textsOf(node.quasi), node.start);
    for (const expression of node.quasi.expressions) collect(expression, found);
  } else for (const child of Object.values(node)) collect(child, found);
}

/** Returns whether a statement contains the texts of a template, in their order. */
export function isUsedIn({ texts }: SqlTemplate, statement: string): boolean {
  let at = 0;
  for (const text of texts) {
    const found = statement.indexOf(text.trim(), at);
    if (found < 0) return false;
    at = found + text.trim().length;
  }
  return true;
}

/** Pairs of texts before and after a part of a statement, of which one makes the part a complete statement. */
const FRAMES = [
  ['', ''],
  ['SELECT ', ''],
  ['SELECT ', ' 1'],
  ['SELECT FROM _any WHERE true ', ''],
  ['SELECT FROM ', ''],
  ['WITH ', ' SELECT 1'],
  ['WITH ', ' _any AS (SELECT) SELECT 1'],
  ['UPDATE _any SET ', ''],
  ['SELECT 1 = ', ''],
  ['SELECT FROM _any ', ''],
] as const;

/** Texts for an inserted value or part, of which one makes a template correct SQL. */
const INSERTS = [
  ...['$1', '', '_any', 'SELECT 1', '($1)', '_any = $1', '_any int', '=', '_any AS (SELECT),', '_any AS (SELECT)'],
  ...['_any WHERE true', 'DELETE FROM _any', 'UNION SELECT 1'],
] as const;
/** Maximum number of combinations that are tried. */
const MAX_TRIALS = 2_000;

/**
 * Returns a statement that contains a template and placeholders for what is inserted. Undefined if there is none that
 * PostgreSQL can parse.
 */
export function completed({ texts }: SqlTemplate): string | undefined {
  for (const [before, after] of FRAMES) {
    const found = fill(before, texts, after);
    if (found !== undefined) return found;
  }
  return undefined;
}

function fill(before: string, texts: readonly string[], after: string): string | undefined {
  const choices = texts.slice(1).map(() => 0);
  for (let trial = 0; trial < MAX_TRIALS; trial++) {
    const starts: number[] = [];
    let sql = before + texts[0];
    for (const [i, choice] of choices.entries()) {
      starts.push(sql.length);
      sql += ` ${INSERTS[choice]} ${texts[i + 1]}`;
    }
    sql += after;
    try {
      parseSql(sql);
      return sql;
    } catch (error) {
      const position = hasSqlDetails(error) ? (error.sqlDetails?.cursorPosition ?? 0) : 0;
      // The error is at or after the insert that does not fit.
      let i = starts.findLastIndex((start) => start <= position);
      while (i >= 0 && choices[i] === INSERTS.length - 1) choices[i--] = 0;
      if (i < 0) return undefined;
      choices[i] = (choices[i] ?? 0) + 1;
      choices.fill(0, i + 1);
    }
  }
  return undefined;
}
