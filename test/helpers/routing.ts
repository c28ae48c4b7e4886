import { type A_Expr, loadModule, type Node, parsePlPgSQLSync, parseSync } from 'libpg-query';

// Checks that SQL can be sent to one server by its organization. Parses with PostgreSQL's own parser.
//
// A query level is a SELECT, UPDATE, INSERT or DELETE without its subqueries. In each level, every table of organizations must
// have a condition that sets its column of the organization equal to a value, directly or through other columns of the level. A
// column of an outer level is no value: subqueries are planned by themselves.

await loadModule();

/** Names of the tables with rows of organizations, each with the column that contains the organization. */
export type OrganizationTables = ReadonlyMap<string, string>;

/** Rules that a statement can violate. */
export type Rule =
  /** A table has no condition on the organization in its query level, or an inserted row does not contain it. */
  | 'organization'
  /** An UPDATE sets the organization of a row. */
  | 'moved row'
  /** A statement changes a table in a CTE, and reads it in its main part or in a CTE that can run after the change. */
  | 'changed and read';

export interface Violation {
  readonly rule: Rule;
  readonly table: string;
}

/** What the names of a statement mean. */
export interface Names {
  readonly tables: OrganizationTables;
  /** Whether unknown names are variables and parameters of a function. Otherwise they are columns of an outer level. */
  readonly hasVariables?: boolean;
}

/** A table, subquery or function of a FROM clause. */
interface Relation {
  /** Column of the organization. Undefined for subqueries, functions, CTEs, and tables without organizations. */
  readonly column?: string;
  readonly table?: string;
}

/** Conditions of an outer join. They restrict only the relations that the join can make null. */
interface OuterCondition {
  readonly nullable: readonly string[];
  readonly condition: Node;
}

/** A CTE or the main part of a statement. */
interface Part {
  readonly changes: ReadonlySet<string>;
  readonly reads: ReadonlySet<string>;
  /** Whether the part runs before later parts. */
  readonly isReadFirst: boolean;
}

interface Scope {
  readonly relations: Map<string, Relation>;
  readonly outer: Scope | undefined;
}

/** Names of the CTEs that a query level can read. */
type Ctes = ReadonlySet<string>;

/** Marks expressions that have a value before the query level runs. */
const VALUE = 'value';

/** Sets of equal expressions. */
class Equalities {
  readonly #parents = new Map<string, string>();

  constructor(other?: Equalities) {
    if (other !== undefined) this.#parents = new Map(other.#parents);
  }

  #root(key: string): string {
    const parent = this.#parents.get(key);
    return parent === undefined ? key : this.#root(parent);
  }

  add(a: string, b: string): void {
    const [rootA, rootB] = [this.#root(a), this.#root(b)];
    if (rootA !== rootB) this.#parents.set(rootA, rootB);
  }

  hasValue(key: string): boolean {
    return this.#root(key) === this.#root(VALUE);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: Nodes of the syntax tree are visited generically.
type Tree = any;

const stringsOf = (fields: Tree): string[] => (fields ?? []).map((field: Tree) => field.String?.sval ?? '*');

/** Calls `visit` for each node below `tree` with the name of its type. Descends into it if `visit` returns true. */
function walk(tree: Tree, visit: (type: string, node: Tree) => boolean): void {
  if (tree === null || typeof tree !== 'object') return;
  for (const [type, node] of Object.entries(tree)) {
    if (visit(type, node)) walk(node, visit);
  }
}

const QUERIES = ['SelectStmt', 'InsertStmt', 'UpdateStmt', 'DeleteStmt'] as const;
const isQuery = (type: string) => (QUERIES as readonly string[]).includes(type);

/** Checks one statement. Collects the violations of all its query levels. */
class Check {
  readonly violations: Violation[] = [];
  readonly #names: Names;

  constructor(names: Names) {
    this.#names = names;
  }

  #report(rule: Rule, table: string): void {
    this.violations.push({ rule, table });
  }

  /** Checks a query and its subqueries. @returns Whether each column of its result has a value, if that is known. */
  query(type: string, node: Tree, outer: Scope | undefined, known: Ctes): readonly boolean[] | undefined {
    const ctes = this.#with(type, node, outer, known);
    if (type === 'SelectStmt') return this.#select(node, outer, ctes);
    if (type === 'InsertStmt') this.#insert(node, outer, ctes);
    else this.#change(node, outer, ctes);
    return undefined;
  }

  /** Checks the CTEs of a query. @returns The CTEs that the query can read. */
  #with(type: string, node: Tree, outer: Scope | undefined, known: Ctes): Ctes {
    const { ctes = [], recursive = false } = node.withClause ?? {};
    const names = new Set(known);
    for (const { CommonTableExpr: cte } of ctes) {
      if (recursive) names.add(cte.ctename);
      const [inner, query] = Object.entries(cte.ctequery)[0] as [string, Tree];
      this.query(inner, query, outer, new Set(names));
      names.add(cte.ctename);
    }
    if (ctes.length > 0) {
      const parts = ctes.map(({ CommonTableExpr: cte }: Tree) => ({
        ...this.#usesOf(cte.ctequery),
        isReadFirst: cte.ctematerialized === 'CTEMaterializeAlways' || cte.ctequery.SelectStmt === undefined,
      }));
      this.#changes([
        ...parts,
        { ...this.#usesOf({ [type]: { ...node, withClause: undefined } }), isReadFirst: false },
      ]);
    }
    return names;
  }

  /**
   * Checks that no part reads a table that a CTE changes. Exception: an earlier CTE that is materialized or changes data
   * itself, because it runs before the change. The last part is the main part.
   */
  #changes(parts: readonly Part[]): void {
    for (const [i, { changes }] of parts.slice(0, -1).entries()) {
      const others = parts.filter(({ isReadFirst }, j) => j > i || (j < i && !isReadFirst));
      for (const table of changes)
        if (others.some(({ reads }) => reads.has(table))) this.#report('changed and read', table);
    }
  }

  /** Returns the tables of organizations that a part of a statement changes, and those of which it reads rows. */
  #usesOf(part: Tree): Pick<Part, 'changes' | 'reads'> {
    const [changes, reads] = [new Set<string>(), new Set<string>()];
    walk(part, (type, node) => {
      const name = type === 'RangeVar' ? node.relname : node?.relation?.relname;
      if (!this.#names.tables.has(name)) return true;
      if (type === 'RangeVar' || type === 'UpdateStmt' || type === 'DeleteStmt') reads.add(name);
      if (isQuery(type) && type !== 'SelectStmt') changes.add(name);
      return true;
    });
    return { changes, reads };
  }

  #select(node: Tree, outer: Scope | undefined, ctes: Ctes): readonly boolean[] | undefined {
    if (node.op !== undefined && node.op !== 'SETOP_NONE') {
      const sides = [node.larg, node.rarg].map((side) => this.query('SelectStmt', side, outer, ctes));
      this.#subqueries([node.sortClause, node.limitCount, node.limitOffset], { relations: new Map(), outer }, ctes);
      const [left, right] = sides;
      return left?.map((isValue, i) => isValue && right?.[i] === true);
    }
    const level = this.#level(node.fromClause ?? [], node.whereClause, outer, ctes);
    const { fromClause: _, withClause: __, ...rest } = node;
    this.#subqueries(rest, level.scope, ctes);
    if (node.valuesLists !== undefined) {
      const rows = node.valuesLists.map(({ List: { items } }: Tree) => items.map((item: Tree) => level.hasValue(item)));
      return rows[0]?.map((_: boolean, i: number) => rows.every((row: boolean[]) => row[i]));
    }
    return (node.targetList ?? []).map(({ ResTarget: { val } }: Tree) => level.hasValue(val));
  }

  #insert(node: Tree, outer: Scope | undefined, ctes: Ctes): void {
    const values = node.selectStmt && this.query('SelectStmt', node.selectStmt.SelectStmt, outer, ctes);
    const table = node.relation.relname;
    const column = this.#names.tables.get(table);
    // The table `realm` contains the organizations themselves, so its rows belong to no other organization.
    if (column !== undefined && table !== 'realm') {
      const place = (node.cols ?? []).findIndex(({ ResTarget }: Tree) => ResTarget.name === column);
      if (values?.[place] !== true) this.#report('organization', table);
    }
    const { targetList, whereClause } = node.onConflictClause ?? {};
    this.#requireNotSet(table, targetList);
    const scope = this.#scopeOf(outer);
    this.#declare(scope, { RangeVar: node.relation }, ctes);
    this.#subqueries([targetList, whereClause, node.returningList], scope, ctes);
  }

  /** Checks an UPDATE or DELETE. */
  #change(node: Tree, outer: Scope | undefined, ctes: Ctes): void {
    const { relation, fromClause = [], usingClause = [], whereClause, withClause: _, ...rest } = node;
    const { scope } = this.#level([{ RangeVar: relation }, ...fromClause, ...usingClause], whereClause, outer, ctes);
    this.#subqueries([whereClause, rest], scope, ctes);
    if ('targetList' in node) this.#requireNotSet(relation.relname, node.targetList);
  }

  #requireNotSet(table: string, targets: Tree): void {
    const column = this.#names.tables.get(table);
    const set = (targets ?? []).map(({ ResTarget }: Tree) => ResTarget.name);
    if (column !== undefined && set.includes(column)) this.#report('moved row', table);
  }

  #scopeOf = (outer: Scope | undefined): Scope => ({ relations: new Map(), outer });

  /** Checks the tables of one query level. @returns Its names, and a function that says whether an expression has a value. */
  #level(from: Tree, where: Tree, outer: Scope | undefined, ctes: Ctes) {
    const scope = this.#scopeOf(outer);
    const conditions: Node[] = where === undefined ? [] : [where];
    const outerConditions: OuterCondition[] = [];
    for (const item of from) this.#item(item, scope, ctes, conditions, outerConditions);
    const equal = new Equalities();
    for (const condition of conditions) this.#learn(condition, scope, equal);
    for (const [alias, { column, table }] of scope.relations) {
      if (column === undefined || table === undefined) continue;
      const here = new Equalities(equal);
      for (const { nullable, condition } of outerConditions) {
        if (nullable.includes(alias)) this.#learn(condition, scope, here);
      }
      if (!here.hasValue(`${alias}.${column}`)) this.#report('organization', table);
    }
    const hasValue = (expression: Tree): boolean => {
      const key = this.#keyOf(expression, scope);
      return key !== undefined && equal.hasValue(key);
    };
    return { scope, hasValue };
  }

  /** Declares the relations of an item of a FROM clause. @returns Their names. */
  #item(
    item: Tree,
    scope: Scope,
    ctes: Ctes,
    conditions: Node[],
    outerConditions: OuterCondition[],
  ): readonly string[] {
    if (item.JoinExpr === undefined) return this.#declare(scope, item, ctes);
    const { jointype, larg, rarg, quals, usingClause } = item.JoinExpr;
    const left = this.#item(larg, scope, ctes, conditions, outerConditions);
    const right = this.#item(rarg, scope, ctes, conditions, outerConditions);
    const nullable =
      jointype === 'JOIN_LEFT'
        ? right
        : jointype === 'JOIN_RIGHT'
          ? left
          : jointype === 'JOIN_FULL'
            ? [...left, ...right]
            : [];
    const all: Node[] = quals === undefined ? [] : [quals];
    for (const column of stringsOf(usingClause)) {
      for (const [a, b] of left.flatMap((l) => right.map((r) => [l, r] as const))) all.push(equality(a, b, column));
    }
    if (jointype === 'JOIN_INNER') conditions.push(...all);
    else outerConditions.push(...all.map((condition) => ({ nullable, condition })));
    if (quals !== undefined) this.#subqueries(quals, scope, ctes);
    return [...left, ...right];
  }

  #declare(scope: Scope, item: Tree, ctes: Ctes): readonly string[] {
    const [type, node] = Object.entries(item)[0] as [string, Tree];
    const alias: string = node.alias?.aliasname ?? node.relname ?? `(${scope.relations.size})`;
    const column = type === 'RangeVar' && !ctes.has(node.relname) ? this.#names.tables.get(node.relname) : undefined;
    if (type !== 'RangeVar') this.#subqueries(node, scope, ctes);
    scope.relations.set(alias, column === undefined ? {} : { column, table: node.relname });
    return [alias];
  }

  /** Checks the subqueries in a part of a query level. */
  #subqueries(part: Tree, scope: Scope, ctes: Ctes): void {
    walk(part, (type, node) => {
      if (!isQuery(type)) return true;
      this.query(type, node, scope, ctes);
      return false;
    });
  }

  /** Adds the equalities that a condition implies. */
  #learn(condition: Tree, scope: Scope, equal: Equalities): void {
    const { BoolExpr: bool, A_Expr: comparison } = condition;
    if (bool?.boolop === 'AND_EXPR') for (const arg of bool.args) this.#learn(arg, scope, equal);
    if (bool?.boolop === 'OR_EXPR') this.#learnFromAll(bool.args, scope, equal);
    if (comparison !== undefined) for (const [a, b] of this.#equalitiesOf(comparison, scope)) equal.add(a, b);
  }

  /** Adds that columns have a value if every one of the conditions implies it. */
  #learnFromAll(conditions: readonly Tree[], scope: Scope, equal: Equalities): void {
    const learned = conditions.map((condition) => {
      const here = new Equalities(equal);
      this.#learn(condition, scope, here);
      return here;
    });
    for (const [alias, { column }] of scope.relations) {
      const key = `${alias}.${column}`;
      if (learned.every((one) => one.hasValue(key))) equal.add(key, VALUE);
    }
  }

  /** Returns the pairs of equal expressions that a comparison implies. */
  #equalitiesOf({ kind, name, lexpr, rexpr }: A_Expr & Tree, scope: Scope): (readonly [string, string])[] {
    if (stringsOf(name).at(-1) !== '=') return [];
    const lefts: Tree[] = lexpr?.RowExpr?.args ?? [lexpr];
    if (kind === 'AEXPR_OP') {
      const rights: Tree[] = rexpr.RowExpr?.args ?? [rexpr];
      return lefts.flatMap((left, i) => {
        const [a, b] = [this.#keyOf(left, scope), this.#keyOf(rights[i], scope)];
        return a === undefined || b === undefined ? [] : [[a, b] as const];
      });
    }
    if (kind !== 'AEXPR_IN') return [];
    // The ORM reads related rows by lists of keys, which are all of one organization. Statements in SQL use arrays for lists.
    const items: Tree[] = rexpr.List.items;
    return lefts.flatMap((left, i) => {
      const a = this.#keyOf(left, scope);
      const areValues = items.every((item) => this.#keyOf(item.RowExpr?.args[i] ?? item, scope) === VALUE);
      return a !== undefined && areValues ? [[a, VALUE] as const] : [];
    });
  }

  /** Returns a key for an expression, equal for equal columns. Undefined for expressions that are not compared. */
  #keyOf(expression: Tree, scope: Scope): string | undefined {
    if (expression?.TypeCast !== undefined) return this.#keyOf(expression.TypeCast.arg, scope);
    if (expression?.ColumnRef !== undefined) return this.#columnOf(stringsOf(expression.ColumnRef.fields), scope);
    let isValue = expression !== undefined;
    walk(expression, (type, node) => {
      if (type === 'SubLink') isValue = false;
      if (type === 'ColumnRef') isValue &&= this.#columnOf(stringsOf(node.fields), scope) === VALUE;
      return true;
    });
    return isValue ? VALUE : undefined;
  }

  /** Returns the key of a column. `VALUE` for a variable of a function, undefined for a column of an outer level. */
  #columnOf(fields: readonly string[], scope: Scope): string | undefined {
    const column = fields.at(-1) as string;
    const alias = fields.at(-2);
    if (alias !== undefined) {
      if (scope.relations.has(alias)) return `${alias}.${column}`;
      const isOuter = (one: Scope | undefined): boolean =>
        one !== undefined && (one.relations.has(alias) || isOuter(one.outer));
      return this.#names.hasVariables && !isOuter(scope.outer) ? VALUE : undefined;
    }
    // By convention, the names of variables and parameters begin with "v_" and "p_", and those of columns do not.
    if (/^[pv]_/.test(column)) return this.#names.hasVariables ? VALUE : undefined;
    const holders = [...scope.relations].filter(([, relation]) => relation.column === column);
    const [holder, ...more] = holders.length > 0 ? holders : scope.relations;
    return holder === undefined || more.length > 0 ? undefined : `${holder[0]}.${column}`;
  }
}

const columnRef = (alias: string, column: string): Node => ({
  ColumnRef: { fields: [{ String: { sval: alias } }, { String: { sval: column } }] },
});

const equality = (a: string, b: string, column: string): Node => ({
  A_Expr: {
    kind: 'AEXPR_OP',
    name: [{ String: { sval: '=' } }],
    lexpr: columnRef(a, column),
    rexpr: columnRef(b, column),
  },
});

/** Returns the violations of a statement. @throws If PostgreSQL cannot parse it. */
export function violationsOf(sql: string, names: Names): Violation[] {
  const check = new Check(names);
  for (const { stmt = {} } of parseSync(sql).stmts ?? []) {
    const [type, node] = Object.entries(stmt)[0] as [string, Tree];
    if (isQuery(type)) check.query(type, node, undefined, new Set());
  }
  return check.violations;
}

/**
 * Returns the statements and expressions of a function in SQL or PL/pgSQL. Expressions are returned as SELECT statements.
 *
 * @param definition The statement CREATE FUNCTION, as the database prints it.
 * @throws If the function executes a text as SQL.
 */
export function statementsOf(definition: string): string[] {
  const [{ stmt } = {}] = parseSync(definition).stmts ?? [];
  const options: readonly Tree[] = (stmt as Tree).CreateFunctionStmt.options;
  const [language, body] = ['language', 'as'].map(
    (name) => options.find(({ DefElem }: Tree) => DefElem.defname === name)?.DefElem.arg,
  );
  if (language.String.sval === 'sql') {
    // A body that is not a text depends on no table: the database records what it depends on.
    return body === undefined ? [] : [body.List.items[0].String.sval];
  }
  const statements: string[] = [];
  walk(parsePlPgSQLSync(definition), (type, node) => {
    if (type === 'PLpgSQL_stmt_dynexecute') throw new Error(`${definition.slice(0, 100)} executes a text`);
    if (type === 'PLpgSQL_expr') statements.push(asStatement(node.query));
    return true;
  });
  return statements;
}

/** Returns a statement or an expression of PL/pgSQL, such as `v_count := 1`, as a statement. */
export function asStatement(text: string): string {
  const expression = text.replace(/^[\w.[\]"]+\s*:?=(?!=)/, '');
  const isStatement = /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(text);
  return isStatement ? text : `SELECT ${isParsed(`SELECT ${expression}`) && expression !== text ? expression : text}`;
}

function isParsed(sql: string): boolean {
  try {
    parseSync(sql);
    return true;
  } catch {
    return false;
  }
}
